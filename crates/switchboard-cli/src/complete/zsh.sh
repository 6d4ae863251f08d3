#compdef switchboard
_switchboard() {
    local -a open whole
    local line
    for line in "${(@f)$(COMPLETE=zsh switchboard -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}"; do
        case "$line" in
            '') ;;
            # A value that ends so goes on in the same word, and gets no blank.
            *(=|/|\\:):*) open+=("$line") ;;
            *) whole+=("$line") ;;
        esac
    done
    (( $#open )) && _describe -V 'beginnings' open -S ''
    (( $#whole )) && _describe -V 'values' whole
}
# Found by its name in a directory of functions, it is the function itself; else it is sourced.
if [[ ${funcstack[1]-} == _switchboard ]]; then
    _switchboard "$@"
else
    compdef _switchboard switchboard
fi
