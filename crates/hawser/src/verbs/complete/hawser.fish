# Completions of hawser for fish. The program knows them; paths are left to fish, which quotes them.
function __hawser_complete
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l last (commandline --current-token --cut-at-cursor)
    set -l lines (command hawser complete -- $words $last 2>/dev/null)
    if set -q lines[2]
        string replace ' ' \t -- $lines[2..-1]
    end
    if test "$lines[1]" = paths
        __fish_complete_path $last
    end
end
complete --command hawser --keep-order --no-files --arguments '(__hawser_complete)'
