# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion for bash. The options are asked of the command itself.

_acuda()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]-} i
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "devices doctor bench run compile soft trace --help --version" -- "$word")
        return
    fi
    if [ "$command" = soft ]; then # behind the program's name, its own completion
        for ((i = 2; i < COMP_CWORD; i++)); do
            if [ "${COMP_WORDS[i]}" = -- ]; then
                declare -F _command_offset >/dev/null && _command_offset $((i + 1))
                return
            fi
        done
    fi
    case $before in
    -d | --driver) mapfile -t COMPREPLY < <(compgen -W "gpu software" -- "$word") && return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(acuda "$command" --help 2>/dev/null |
            grep -oE -e '--[a-z-]+' | sort -u)" -- "$word")
        return
    fi
    [[ $command == run && $word == *:* ]] && word=${word#*:}
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _acuda acuda
