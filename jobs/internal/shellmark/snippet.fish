# Read by fish after all files of the user's. The hooks are handlers of its events, and one wraps the prompt, again if a
# user has set another one. Code that the server runs finds all of the user's variables unshadowed: the functions around
# it only have variables with names of ours. If IFS is empty or unset, only split0 splits a substitution into lines.

set -g __shelld_n @NONCE@ # the nonce
set -g __shelld_d @COMMANDS@ # the FIFO of the commands
set -g __shelld_c ''      # the command
set -g __shelld_b ''      # set when the command is about to run
set -g __shelld_e 'set -g __shelld_i 2'\n # without this line, eval has status 0 if a redirection fails
set -g __shelld_i         # 1: it was reported as begun, 2: it has begun
set -g __shelld_y 0       # the status before it
set -g __shelld_line ' set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c"'
# After an eval, $pipestatus is only its status, and no function can set it: so after a pipeline, one with the same
# statuses runs in the line itself.
set -g __shelld_f \n'set -g __shelld_p $pipestatus'
set -g __shelld_p         # the value of $pipestatus
set -g __shelld_l 0       # the number of its elements
set -g __shelld_piped ' set __shelld_b 1; builtin eval "$__shelld_e$__shelld_c$__shelld_f"; switch $__shelld_l; case 2; __shelld_x 1 | __shelld_x 2; case 3; __shelld_x 1 | __shelld_x 2 | __shelld_x 3; case 4; __shelld_x 1 | __shelld_x 2 | __shelld_x 3 | __shelld_x 4; end'
set -g __shelld_w         # one element for each wrapped prompt
set -g __shelld_in        # one element for each wrapped prompt that is being drawn
set -g __shelld_r 1       # set if this prompt has reported that it is drawn
set -g __shelld_s         # the number of the loaded command until it is over
set -g __shelld_a 'E;0;0;' # the report of the last command that is over
# while history is hidden, __shelld_h says whether fish_history was set, and __shelld_v contains its value

function __shelld_tell
    for __shelld_k in 1 2 3 4 5 6 7 8 # a signal with a handler may interrupt the write
        builtin printf '\e]633;shelld;%s;%s\a' $__shelld_n $argv[1] >/dev/tty 2>/dev/null; and return
    end
end

# The line of the trigger sets this variable: the output of fish itself between its event for a line that is about to
# run and the command's output then comes before the mark, and $status and $pipestatus do not change.
function __shelld_began --on-variable __shelld_b
    __shelld_unhide
    set -q __shelld_o; or return
    set -g __shelld_i 1
    set -l __shelld_t (string sub -l 4096 -- "$__shelld_c" | string collect)
    set __shelld_t (string replace -ar '[\x01-\x08\x0b-\x1f\x7f]' '?' -- "$__shelld_t" | string collect)
    # A signal with a handler may interrupt the write.
    for __shelld_k in 1 2 3 4 5 6 7 8
        builtin printf '%s\n\e]633;shelld;%s;B;%s;\a' "$__shelld_t" $__shelld_n "$__shelld_s" >/dev/tty 2>/dev/null; and break
    end
end

# If $status differs from the last status, as after not, it does not change.
function __shelld_pipes --on-variable __shelld_p
    set -l __shelld_was $status
    set -g __shelld_l 0
    test "$__shelld_p[-1]" = "$__shelld_was"; and set -g __shelld_l (builtin count $__shelld_p)
end

function __shelld_x
    return $__shelld_p[$argv[1]]
end

function __shelld_cancelled --on-event fish_cancel
    set -q __shelld_s[1]; or return
    set -q __shelld_i[1]; or __shelld_became
end

# became reports what happened to the last command, or that it runs.
function __shelld_became
    if set -q __shelld_s[1]; and set -q __shelld_i[1]
        __shelld_tell "B;$__shelld_s"
        return
    end
    set -q __shelld_s[1]; and __shelld_over 0
    __shelld_tell $__shelld_a
end

# over STATUS handles the end of a line. A command that has not begun never runs, whatever happens to its line. If it
# was reported as begun and has not begun, it was interrupted, or cannot be parsed. A parse error has a status of its
# own; an interrupt leaves the status of the last command.
function __shelld_over
    __shelld_unhide
    set -g __shelld_c ''
    if test "$__shelld_i" = 1 -a "$argv[1]" = "$__shelld_y" -a "$argv[1]" != 123
        set argv 130
    end
    if set -q __shelld_s[1]; and not set -q __shelld_i[1]
        set -g __shelld_a "D;$__shelld_s"
    else
        set -q __shelld_s[1]; or set -g __shelld_s 0
        set -g __shelld_a "E;$__shelld_s;$argv[1];"(string escape --style=url -- "$PWD")
    end
    set -g __shelld_s
    set -g __shelld_i
    set -e -g __shelld_o
end

# hide makes the accepted line go to a history without a file, until unhide: a line that begins with a blank would be
# found by the arrow key at the next prompt. fish applies the name of the history when it is set.
function __shelld_hide
    set -q __shelld_h; and return
    if set -qg fish_history
        set -g __shelld_v $fish_history
        set -g __shelld_h set
    else
        set -g __shelld_h unset
    end
    set -g fish_history ''
end

# unhide is called when the line is about to run, or never will. A second call has no effect.
function __shelld_unhide
    set -q __shelld_h; or return
    if test "$__shelld_h" = set
        set -g fish_history $__shelld_v
    else
        set -e -g fish_history
    end
    set -e -g __shelld_h
end

# trap makes fish ignore interrupts, from the end of a command until the prompt has reported that it is drawn.
function __shelld_trap
    function __shelld_interrupted --on-signal INT
    end
end

function __shelld_preexec --on-event fish_preexec
    builtin functions -e __shelld_interrupted
    __shelld_unhide
    set -q __shelld_o; and return
    set -g __shelld_s
    __shelld_tell "B;0;"(string escape --style=url -- (string sub -l 65536 -- "$argv[1]" | string collect))
end

function __shelld_postexec --on-event fish_postexec
    set -l __shelld_was $status
    __shelld_trap
    set -e -g __shelld_r
    __shelld_over $__shelld_was
    __shelld_tell $__shelld_a
end

# The event comes before each prompt is drawn. The wrapped function gets a new name each time: a user's script may keep
# our function under another name, set a prompt that calls it, and restore it later, as activation of a virtual
# environment does. Only the outermost one reports.
function __shelld_wrap --on-event fish_prompt
    set -g __shelld_in
    set -e -g __shelld_r
    __shelld_keys
    __shelld_wrap_title
    set -l __shelld_about (builtin functions --details --verbose fish_prompt | string join0 | string split0)
    test "$__shelld_about[5]" = 'tells shelld that it is drawn'; and return
    set -g __shelld_w $__shelld_w x
    set -l __shelld_k (builtin count $__shelld_w)
    if builtin functions -q fish_prompt
        builtin functions -c fish_prompt __shelld_prompt_$__shelld_k
    else # fish draws a prompt of its own, and calls no function
        function __shelld_prompt_$__shelld_k
            builtin echo -n "$USER@$hostname $PWD "'> '
        end
    end
    function fish_prompt --description 'tells shelld that it is drawn' --inherit-variable __shelld_k
        set -l __shelld_was $status
        set -g __shelld_in $__shelld_in x # this does not change $status
        __shelld_prompt_$__shelld_k
        set -e __shelld_in[-1]
        set -q __shelld_in[1]; or __shelld_ready $__shelld_was
    end
end

function __shelld_status
    return $argv[1]
end

# An interrupt may have prevented the handlers from running at the end of a command, and at this prompt; a command that
# draws prompts goes on. STATUS is the status at the prompt. If the prompt is redrawn while our line is in the editor,
# as when a window changes its size, it is not reported: fish has already queued the execution of the line.
function __shelld_ready
    if set -q __shelld_s[1]; and not set -q __shelld_i[1]
        set -l __shelld_now (builtin commandline -b | string collect)
        builtin contains -- "$__shelld_now" "$__shelld_line" "$__shelld_piped"; and return
    end
    set -q __shelld_s[1]; and test (builtin status current-command) = fish; and __shelld_over $argv[1]
    __shelld_tell $__shelld_a
    __shelld_tell R; and set -g __shelld_r 1
    builtin functions -e __shelld_interrupted
end

# The title is written when a line is about to run, and must not contain ours, and after each prompt, which an interrupt
# may have ended before its report.
function __shelld_wrap_title
    set -l __shelld_about (builtin functions --details --verbose fish_title | string join0 | string split0)
    test "$__shelld_about[5]" = 'tells shelld of the prompt'; and return
    set -g __shelld_w $__shelld_w x
    set -l __shelld_k (builtin count $__shelld_w)
    if builtin functions -q fish_title
        builtin functions -c fish_title __shelld_title_$__shelld_k
    else # fish writes no title, and calls no function
        function __shelld_title_$__shelld_k
        end
    end
    function fish_title --description 'tells shelld of the prompt' --inherit-variable __shelld_k
        set -l __shelld_was $status
        set -l __shelld_about $argv
        builtin contains -- "$argv[1]" "$__shelld_line" "$__shelld_piped"; and set __shelld_about "$__shelld_c"
        __shelld_status $__shelld_was
        __shelld_title_$__shelld_k $__shelld_about
        if not set -q argv[1]
            set -q __shelld_s[1]; or not set -q __shelld_r; and __shelld_ready $__shelld_was
        end
    end
end

function __shelld_trigger
    set -g __shelld_y $status
    set -l __shelld_q
    set -l __shelld_code
    begin
        read -z __shelld_q; and read -z __shelld_code
    end <$__shelld_d; or return
    set -g __shelld_c (string sub -s 2 -- "$__shelld_code" | string collect -N)
    set -g __shelld_i
    set -g __shelld_s (string sub -s 2 -- $__shelld_q)
    set -g __shelld_o 1
    set -g __shelld_p
    if builtin string match -q 'p*' -- $__shelld_q
        builtin commandline -r -- $__shelld_piped
    else
        builtin commandline -r -- $__shelld_line
    end
    __shelld_hide
    __shelld_tell "L;$__shelld_s;1"
    builtin commandline -f execute
end

function __shelld_hidden
    set -l __shelld_was $status
    set -l __shelld_q
    set -l __shelld_code
    begin
        read -z __shelld_q; and read -z __shelld_code
    end <$__shelld_d; or return
    if set -q __shelld_o; and not set -q __shelld_i[1]
        builtin commandline -r ''
    end
    __shelld_became
    set -el argv
    eval (string sub -s 2 -- "$__shelld_code" | string collect -N) >/dev/null 2>/dev/null
    set -l __shelld_ended $status
    __shelld_tell "H;"(string sub -s 2 -- $__shelld_q)";$__shelld_ended"
    return $__shelld_was
end

# keys binds our keys, again at each prompt, since a user may have erased all bindings: a check would take longer.
function __shelld_keys
    for __shelld_mode in default insert visual replace replace_one
        builtin bind -M $__shelld_mode \e\[5379\;1~ __shelld_trigger
        builtin bind -M $__shelld_mode \e\[5379\;3~ __shelld_hidden
    end
end

# Some users' scripts rebind all keys at the first prompt.
function __shelld_first --on-event fish_prompt
    builtin functions -e __shelld_first
    __shelld_keys
end
