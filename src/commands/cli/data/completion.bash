# Completion of recount(1) for bash 4.4 or newer. The program itself answers what a word may become.

_recount() {
  local rest=${COMP_LINE:0:COMP_POINT} word i words=() starts=()
  # bash breaks words at : and =, which belong to names of events: join what no blank separates.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $i == 0 || $rest == [[:blank:]]* ]]; then
      words+=('')
      starts+=("$i")
    fi
    rest=${rest#"${rest%%[![:blank:]]*}"}
    ((i < COMP_CWORD)) || word=$rest # up to the cursor
    words[-1]+=$word
    rest=${rest#"$word"}
  done
  local typed=${words[-1]} breaks=${COMP_WORDBREAKS//[^:=]/} kept='' reply names
  if [[ $typed == [\"\']* ]]; then
    words[-1]=${typed:1} # nothing is broken within quotes
  elif [[ $breaks && $typed == *[$breaks]* ]]; then
    kept=${typed%"${typed##*[$breaks]}"}
  fi

  COMPREPLY=()
  mapfile -t reply < <("${words[0]/#~/$HOME}" complete -- "${words[@]:1}" 2>/dev/null)
  names=("${reply[@]:1}")
  case ${reply[0]:-} in
  names)
    names=("${names[@]%%$'\t'*}")
    COMPREPLY=("${names[@]#"$kept"}")
    [[ ${#names[@]} == 1 && ${names[0]} == *: ]] && compopt -o nospace
    ;;
  files) compopt -o default ;;
  folders) compopt -o dirnames ;;
  program\ *)
    i=${reply[0]#program }
    if declare -F _command_offset >/dev/null; then
      _command_offset "${starts[i]}"
    elif ((i == ${#words[@]} - 1)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$typed")
    else
      compopt -o default
    fi
    ;;
  esac
}
complete -F _recount recount
