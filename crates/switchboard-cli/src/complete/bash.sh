_switchboard() {
    local value
    COMPREPLY=()
    # The whole line is handed over: bash would part `key=value` and `scheme:path` in three.
    while IFS= read -r value; do
        COMPREPLY+=("$value")
    done < <(COMPLETE=bash switchboard -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
}
if [[ ${BASH_VERSINFO[0]} -gt 4 || (${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4) ]]; then
    complete -o nospace -o nosort -F _switchboard switchboard
else
    complete -o nospace -F _switchboard switchboard
fi
