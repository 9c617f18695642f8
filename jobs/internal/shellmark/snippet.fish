# Read by fish after all files of the user's. The hooks are handlers of its events, and one that
# wraps the prompt, which is wrapped again where a user has set another.

set -g __shelld_n @NONCE@ # the nonce
set -g __shelld_d @DIR@   # the directory of the FIFO
set -g __shelld_c ''      # the command
set -g __shelld_b ''      # set when the command is about to run
set -g __shelld_p ''      # the prompt that was wrapped

function __shelld_tell
    builtin printf '\e]633;shelld;%s;%s\a' $__shelld_n $argv[1] >/dev/tty 2>/dev/null
end

# escape TEXT prints what a field of a mark may be.
function __shelld_escape
    if not string match -qr '[\x01-\x1f\x7f%;]' -- "$argv[1]"
        builtin printf %s "$argv[1]"
        return
    end
    set -l t (string replace -a % %25 -- "$argv[1]" | string replace -a ';' %3B | string collect -N)
    for i in (string split ' ' '01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14 15 16 17 18 19 1A 1B 1C 1D 1E 1F 7F')
        set -l c (builtin printf "\\x$i" | string collect -N)
        set t (string replace -a -- $c %$i "$t" | string collect -N)
    end
    builtin printf %s $t
end

# The line of the trigger sets this variable: what fish itself writes between its event for a
# line that is about to run and the command's output then stands before the mark, and $status and
# $pipestatus stay as they are.
function __shelld_began --on-variable __shelld_b
    set -q __shelld_o; or return
    set -l t (string sub -l 4096 -- "$__shelld_c" | string collect)
    set t (string replace -ar '[\x01-\x08\x0b-\x1f\x7f]' '?' -- "$t" | string collect)
    builtin printf '%s\n\e]633;shelld;%s;B;1;\a' "$t" $__shelld_n >/dev/tty 2>/dev/null
end

function __shelld_preexec --on-event fish_preexec
    set -q __shelld_o; and return
    __shelld_tell "B;0;"(__shelld_escape (string sub -l 65536 -- "$argv[1]" | string collect) | string collect)
end

function __shelld_postexec --on-event fish_postexec
    set -l s $status
    __shelld_tell "E;$s;"(__shelld_escape "$PWD" | string collect)
    set -e -g __shelld_o
end

# The event comes before each prompt is drawn.
function __shelld_wrap --on-event fish_prompt
    set -l now (functions fish_prompt | string collect)
    if test "$now" != "$__shelld_p"
        functions -q fish_prompt; or return
        functions -e __shelld_prompt
        functions -c fish_prompt __shelld_prompt
        function fish_prompt
            __shelld_prompt
            __shelld_tell R
        end
        set -g __shelld_p (functions fish_prompt | string collect)
    end
end

function __shelld_trigger
    set -l c
    read -z c <$__shelld_d/command; or return
    set -g __shelld_c (string sub -s 2 -- "$c" | string collect -N)
    set -g __shelld_o 1
    commandline -r -- ' set __shelld_b 1; eval "$__shelld_c"'
    __shelld_tell 'L;1'
    commandline -f execute
end

function __shelld_hidden
    set -l s $status
    set -l c
    read -z c <$__shelld_d/command; or return
    eval $c >/dev/null 2>/dev/null
    __shelld_tell "H;$status"
    return $s
end

function __shelld_keys
    for mode in default insert visual replace replace_one
        bind -M $mode \e\[5379\;1~ __shelld_trigger
        bind -M $mode \e\[5379\;3~ __shelld_hidden
    end
end

# Some bind all keys anew at the first prompt.
function __shelld_first --on-event fish_prompt
    functions -e __shelld_first
    __shelld_keys
end
