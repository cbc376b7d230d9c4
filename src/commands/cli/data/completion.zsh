#compdef recount
# Completion of recount(1) for zsh. The program itself answers what a word may become.

_recount() {
  local -a reply names shown
  local line
  reply=("${(@f)$("${(Q)words[1]}" complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  case $reply[1] in
  names)
    for line in "${(@)reply[2,-1]}"; do
      names+=("${line%%$'\t'*}")
      shown+=("${line%%$'\t'*}${${line#*$'\t'}:+  -- ${line#*$'\t'}}")
    done
    if [[ $PREFIX == -* && $PREFIX != *=* || ${#names} -lt 100 ]]; then
      compadd -l -d shown -a names
    else
      compadd -a names
    fi
    ;;
  files)
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files
    ;;
  folders)
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files -/
    ;;
  program\ *)
    integer skip=${reply[1]#program }
    words=("${(@)words[skip+1,-1]}")
    ((CURRENT -= skip))
    _normal
    ;;
  esac
}

# Sourced, or loaded by the name of the function.
if [[ ${funcstack[1]} == _recount ]]; then
  _recount "$@"
else
  compdef _recount recount
fi
