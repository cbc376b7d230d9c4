# Completion of recount(1) for fish. The program itself answers what a word may become.

function __recount_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l name $words[1]
    set -e words[1]
    set -l reply ($name complete -- $words "$typed" 2>/dev/null)
    set -l kind $reply[1]
    set -e reply[1]
    set -l option (string match -r -- '^--[^=]*=' $typed)
    set -l value (string replace -r -- '^--[^=]*=' '' $typed)
    switch $kind
        case names
            string join -- \n $reply
        case files
            __fish_complete_path "$value" | string replace -r -- '^' "$option"
        case folders
            __fish_complete_directories "$value" | string replace -r -- '^' "$option"
        case 'program *'
            # Words are counted with recount itself, which is not among $words.
            set -l at (string replace 'program ' '' -- $kind)
            set -l program
            if test $at -le (count $words)
                set program (string escape -- $words[$at..-1])
            end
            complete -C "$program $typed"
    end
end

complete -c recount -f -a '(__recount_complete)'
