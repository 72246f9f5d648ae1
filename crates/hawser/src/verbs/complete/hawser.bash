# Completions of hawser for bash. The program knows them; paths are left to bash, which quotes them.
_hawser() {
	local line kind=
	COMPREPLY=()
	while IFS= read -r line; do
		if [[ -z $kind ]]; then kind=$line; else COMPREPLY+=("${line%% *}"); fi
	done < <(command hawser complete --line="${COMP_LINE:0:COMP_POINT}" --part="$2" 2>/dev/null)
	if [[ $kind == paths ]]; then
		compopt -o filenames 2>/dev/null
		while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$2")
	fi
	# The value follows at once.
	if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _hawser hawser
