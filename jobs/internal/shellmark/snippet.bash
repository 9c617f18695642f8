# Read by an interactive bash in place of the user's own file, which is read at the end. All functions are defined
# before that, so that they contain none of the user's aliases; hooks restore $?, and set the options that they need
# only for themselves (local -). They are called as { … } 2>/dev/null, which discards their trace; 9 is then the outer
# 2. The output of a DEBUG trap for the hook that ends a command is not output of the command.
#
# A name that does not begin with __shelld_ is the user's, also as a local variable: it may be read-only, which ends a
# function that assigns it, or be the variable that the server is asked for. This includes IFS, so that nothing here is
# split into words, and read, which needs IFS, is not used.

if [[ @MODE@ == posix ]]; then # makes a login shell, and one without files, read ENV
	set +o posix
	shopt -u inherit_errexit
	@RESTORE@
	[[ ${HISTFILE-} != ~/.sh_history ]] || HISTFILE=~/.bash_history
fi

# An interrupt while start-up files are read ends all of them, including this one. So this file waits until everything
# is defined. While the user's files are read, an interrupt first sets up the hooks; then it takes effect
# (__shelld_struck).
declare -g +x __shelld_int=''
\builtin trap '__shelld_int=1' INT

declare -g +x __shelld_n=@NONCE@ __shelld_d=@COMMANDS@ # the nonce; the FIFO of the commands
declare -g +x __shelld_f=@SCRATCH@ # output of builtins that is read back at once
declare -g +x __shelld_y=''                       # the last status
declare -g +x __shelld_v=$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))
declare -g +x __shelld_c='' __shelld_t=''         # the command; its text to show
declare -g +x __shelld_x='' __shelld_u=''         # output of PS0; $_ before a key
declare -g +x __shelld_h='' __shelld_l=''         # our running line; it is kept out of history
declare -g +x __shelld_k='' __shelld_b=''         # number of the last line of history at the prompt; that line
declare -g +x __shelld_s='' __shelld_a='E;0;0;'   # number of the loaded command until it is over; report of the last command that is over
declare -ga +x __shelld_g=('')                    # the command has begun; an array, which "set -a" does not export
declare -g +x __shelld_m='' __shelld_z=''         # start of a mark, and its end
declare -g +x __shelld_e='{ __shelld_ended; } >/dev/null 2>&1'
((__shelld_v >= 501)) || __shelld_e='{ __shelld_ended && :; } >/dev/null 2>&1' # && :, so that it is no failure for an ERR trap or -e
declare -g +x __shelld_r='{ __shelld_prompt; } 9>&2 2>/dev/null || { __shelld_prompt; } 9>&- 2>/dev/null' # 2 may be closed
declare -g +x __shelld_2='\[${__shelld_m:+${__shelld_m}M$__shelld_z}\]'
declare -g +x __shelld_o='' __shelld_j=''         # a trap must be removed; the user's ERR trap that was removed
declare -g +x __shelld_p='' __shelld_q='' __shelld_0=''
declare -g +x __shelld_deaf=''                    # suffix of the Ready mark
declare -g +x __shelld_trap='{ __shelld_struck; } 2>/dev/null' # run by an interrupt before the first prompt

# tell PAYLOAD writes a mark.
__shelld_tell() { builtin printf '\e]633;shelld;%s;%s\a' "$__shelld_n" "$1" >/dev/tty; }

# escape TEXT sets __shelld_reply to TEXT as a field of a mark. If LC_ALL cannot be set, letters are not bytes, and some
# are examined unnecessarily.
__shelld_escape() {
	__shelld_reply=$1
	[[ $__shelld_reply == *[[:cntrl:]%\;]* ]] || builtin return 0
	builtin local __shelld_i __shelld_char __shelld_hex LC_ALL=C
	__shelld_reply=${__shelld_reply//%/%25} __shelld_reply=${__shelld_reply//;/%3B}
	[[ $__shelld_reply == *[[:cntrl:]]* ]] || builtin return 0
	for __shelld_i in {1..31} 127; do
		builtin printf -v __shelld_hex %02X "$__shelld_i"
		builtin printf -v __shelld_char "\\x$__shelld_hex"
		__shelld_reply=${__shelld_reply//"$__shelld_char"/%$__shelld_hex}
	done
}

# show TEXT sets __shelld_t to a command as a user would have typed it, without characters that affect the terminal.
__shelld_show() {
	builtin local LC_ALL=C
	__shelld_t=$1
	((${#__shelld_t} <= 4096)) || __shelld_t=${__shelld_t:0:4096}…
	[[ $__shelld_t != *[[:cntrl:]]* ]] || __shelld_t=${__shelld_t//[$'\x01'-$'\x08'$'\x0b'-$'\x1f'$'\x7f']/?}
	__shelld_t=${__shelld_t%$'\n'}
}

# The first of PROMPT_COMMAND: the command has ended. Bash restores $? for each of the user's own hooks; if
# PROMPT_COMMAND is a single text, this returns it.
__shelld_ended() {
	builtin set -- "$?"
	__shelld_ended_in "$1"
	((__shelld_v >= 501)) || builtin return "$1"
}

__shelld_ended_in() {
	builtin local - __shelld_reply __shelld_cwd __shelld_text=''
	builtin set +aefuvxCkET
	__shelld_retrap
	__shelld_escape "${PWD-}"
	__shelld_cwd=$__shelld_reply
	__shelld_typed
	__shelld_y=$1
	if [[ ${__shelld_g[0]} ]]; then
		__shelld_a="E;${__shelld_s:-0};$1;$__shelld_cwd" __shelld_s='' __shelld_g[0]=''
	elif [[ $__shelld_s ]]; then
		__shelld_a="D;$__shelld_s" __shelld_s=''
	fi
	__shelld_tell "$__shelld_a;$__shelld_text"
}

# typed sets __shelld_text to the typed command: the last line of history, if it follows the last line that the prompt
# has seen, or has replaced it, as when an equal line further up is removed. If the command itself has changed the
# history, another line may be there. If one of our lines got into the history nevertheless, it is removed.
__shelld_typed() {
	__shelld_unhide
	builtin local __shelld_number __shelld_entry
	__shelld_last
	if [[ $__shelld_h ]]; then
		[[ $__shelld_entry != "$__shelld_h" ]] || builtin history -d "$__shelld_number"
	elif [[ $__shelld_k ]] && ((__shelld_number == __shelld_k + 1)) ||
		[[ $__shelld_k == "$__shelld_number" && $__shelld_entry != "$__shelld_b" ]]; then
		__shelld_escape "${__shelld_entry:0:65536}"
		__shelld_text=$__shelld_reply
	fi
	__shelld_k='' __shelld_b='' __shelld_h=''
}

# hide keeps lines that end with a space, as ours do, out of history, until unhide. If they were removed afterwards,
# exit, exec and "history -a" would have written them. Bash applies a value of HISTIGNORE when it is set or unset by its
# own name: by another name it gets the user's value back, visibly, without being applied. As it cannot be unset in that
# way, it is an array without elements then.
__shelld_hide() {
	__shelld_free HISTIGNORE || builtin return 0
	builtin local -n __shelld_other=HISTIGNORE
	builtin local __shelld_was="${HISTIGNORE-}" __shelld_flags="${HISTIGNORE@a}"
	__shelld_l=unset
	[[ ! ${HISTIGNORE+x} ]] || __shelld_l=set
	HISTIGNORE="* ${__shelld_was:+:$__shelld_was}"
	if [[ $__shelld_l == set ]]; then
		builtin printf -v __shelld_other %s "$__shelld_was"
	else
		builtin declare -ga HISTIGNORE
		[[ $__shelld_flags != *x* ]] || builtin declare -gx HISTIGNORE
		builtin unset -v '__shelld_other[0]'
	fi
}

# unhide makes bash apply the user's value again, which the command may have set.
__shelld_unhide() {
	[[ $__shelld_l ]] || builtin return 0
	builtin local __shelld_was="${HISTIGNORE-}" __shelld_has="${HISTIGNORE+x}" __shelld_flags="${HISTIGNORE@a}"
	if [[ $__shelld_l == unset && ${#HISTIGNORE[@]} -le 1 ]]; then
		builtin unset -v HISTIGNORE
		[[ $__shelld_flags != *x* ]] || builtin declare -gx HISTIGNORE
	fi
	[[ ! $__shelld_has ]] || builtin printf -v HISTIGNORE %s "$__shelld_was"
	__shelld_l=''
}

# last sets __shelld_number and __shelld_entry to the last line of history, or to 0 and nothing, through a file: that
# needs no process. It is parsed without =~, which would set BASH_REMATCH.
__shelld_last() {
	builtin local -a __shelld_line
	HISTTIMEFORMAT='' builtin history 1 >|"$__shelld_f" &&
		builtin mapfile -d '' -n 1 -t __shelld_line <"$__shelld_f"
	__shelld_entry=${__shelld_line[0]-}
	__shelld_entry=${__shelld_entry#"${__shelld_entry%%[! ]*}"}
	__shelld_number=${__shelld_entry%%[![:digit:]]*}
	__shelld_entry=${__shelld_entry#"$__shelld_number"?} __shelld_entry=${__shelld_entry# } __shelld_entry=${__shelld_entry%$'\n'}
	[[ $__shelld_number ]] || __shelld_number=0
}

# The last of PROMPT_COMMAND: adds our part again to variables that a theme or a command has set.
__shelld_prompt() {
	builtin local - __shelld_number __shelld_entry
	builtin set +aefuvxCkET
	__shelld_last
	__shelld_k=$__shelld_number __shelld_b=$__shelld_entry
	__shelld_accept redraw-current-line
	__shelld_wrap
	[[ -t 9 && $__shelld_q && ${PS1-} == *"$__shelld_q" ]] || __shelld_tell "R$__shelld_deaf" # if the prompt does not
	builtin return 0
}

# wrap puts our parts around the user's.
__shelld_wrap() {
	__shelld_deaf=';off' # then no keys are read
	[[ ! -o emacs && ! -o vi ]] || __shelld_deaf=''
	__shelld_x=$__shelld_m'B;0;'$__shelld_z
	__shelld_hooks
	__shelld_p='\[${__shelld_m:+${__shelld_m}e;$?;$PWD$__shelld_z}\]'
	__shelld_q='\[${__shelld_m:+${__shelld_m}R$__shelld_deaf$__shelld_z}\]'
	__shelld_0='${__shelld_x+${__shelld_x:$((__shelld_g[0]=1,0))}}'
	if [[ $BASHOPTS != *promptvars* ]]; then
		# PS1 would contain the nonce itself, visible if it is exported.
		if [[ ${PS1-} == *"$__shelld_q" ]] && __shelld_free PS1; then
			PS1=${PS1//"$__shelld_p"/} PS1=${PS1//"$__shelld_q"/}
		fi
		if [[ ${PS0-} == *"$__shelld_0" ]] && __shelld_free PS0; then PS0=${PS0//"$__shelld_0"/}; fi
		__shelld_p='' __shelld_q='' __shelld_0=''
	fi
	if [[ ${PS1-} != "$__shelld_p"*"$__shelld_q" ]] && __shelld_free PS1; then
		PS1=${PS1//"$__shelld_p"/} PS1=${PS1//"$__shelld_q"/}
		PS1=$__shelld_p$PS1$__shelld_q
	fi
	if [[ $__shelld_0 && ${PS2-} != *"$__shelld_2" ]] && __shelld_free PS2; then
		PS2=${PS2-} PS2=${PS2//"$__shelld_2"/}$__shelld_2
	fi
	if [[ ${PS0-} != *"$__shelld_0" ]] && __shelld_free PS0; then
		PS0=${PS0-} PS0=${PS0//"$__shelld_0"/}$__shelld_0
	fi
}

# free NAME reports whether a variable may be set.
__shelld_free() {
	builtin local -n __shelld_other=$1
	[[ ${__shelld_other@a} != *r* ]]
}

# hooks puts our hooks around the others of PROMPT_COMMAND.
__shelld_hooks() {
	builtin local __shelld_one
	builtin local -a __shelld_others
	if ((__shelld_v >= 501)); then
		[[ ${PROMPT_COMMAND-} != "$__shelld_e" || ${PROMPT_COMMAND[-1]} != "$__shelld_r" ]] || builtin return 0
		__shelld_free PROMPT_COMMAND || builtin return 0
		for __shelld_one in ${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"}; do
			__shelld_one=${__shelld_one//"$__shelld_e"/:} __shelld_one=${__shelld_one//"$__shelld_r"/:}
			[[ $__shelld_one == : || ! $__shelld_one ]] || __shelld_others+=("$__shelld_one")
		done
		builtin unset -v PROMPT_COMMAND
		PROMPT_COMMAND=("$__shelld_e" ${__shelld_others[@]+"${__shelld_others[@]}"} "$__shelld_r")
		builtin return 0
	fi
	__shelld_one=${PROMPT_COMMAND-}
	[[ $__shelld_one != "$__shelld_e"$'\n'*$'\n'"$__shelld_r" ]] || builtin return 0
	__shelld_free PROMPT_COMMAND || builtin return 0
	__shelld_one=${__shelld_one//"$__shelld_e"/:} __shelld_one=${__shelld_one//"$__shelld_r"/:}
	PROMPT_COMMAND=$__shelld_e$'\n'$__shelld_one$'\n'$__shelld_r
}

__shelld_keep() {
	builtin local -
	builtin set +aeux
	__shelld_u=$1
}

# read sets __shelld_line to the text in the FIFO, and __shelld_w to its mode and number. A text without the final
# character is incomplete.
__shelld_read() {
	builtin mapfile -d '' -n 2 -t __shelld_line <"$__shelld_d"
	__shelld_w=${__shelld_line[0]-} __shelld_line=${__shelld_line[1]-}
	[[ $__shelld_line == $'\x04'*$'\x04' ]] || builtin return 1
	__shelld_line=${__shelld_line:1:-1}
}

# accept COMMAND sets the function of the key that follows the key of a command: it accepts the line once the command is
# there, and does nothing before. If a search, a quote or an escape consumes the first key, or half of it, a half-typed
# or found line does not run.
__shelld_accept() {
	builtin local __shelld_map
	for __shelld_map in emacs vi-insert vi-command; do
		builtin bind -m "$__shelld_map" '"\e[5379;2~": '"$1"
	done
}

# The key that runs the command in the FIFO. It is followed by another key, which accepts the line.
__shelld_trigger() {
	builtin local - __shelld_seen='' __shelld_w
	builtin local -a __shelld_line
	builtin set +aefuvxCkET
	READLINE_LINE='' READLINE_POINT=0 __shelld_c='' __shelld_o=''
	__shelld_read || builtin return 0
	__shelld_s=${__shelld_w:1} __shelld_g[0]=''
	__shelld_hooks
	[[ -t 9 && $__shelld_0 && ${PS0-} == *"$__shelld_0" ]] && __shelld_seen=1 # PS0 itself must not be set here: bash has read it
	if [[ $__shelld_w == n* && $__shelld_seen && ! ${histchars+x} ]] && ! __shelld_aliased; then
		# An interrupt that comes while readline takes over the line removes the first character.
		__shelld_c=$__shelld_line READLINE_LINE=" $__shelld_line"
		__shelld_x=$__shelld_m"B;$__shelld_s;"$__shelld_z
		__shelld_tell "L;$__shelld_s;0;1"
	else
		__shelld_show "$__shelld_line"
		[[ ! -s $__shelld_f ]] || __shelld_o=1
		# After an eval that ends so, the parser is in the middle of a word, and does not recognise for in the next
		# line.
		[[ $__shelld_line != *\\ ]] || __shelld_line+=$'\n\n'
		READLINE_LINE=' \builtin eval "$__shelld_c"'
		# In a loop, an interrupt ends all lines, and not only the running one. But after a syntax error in an eval,
		# bash does not recognise for, because its parser is in the middle of a word.
		[[ $__shelld_line != *$'\n'* || $1 == *a* || $__shelld_y == 2 ]] ||
			READLINE_LINE=' for __shelld_i in 1; do \builtin eval "$__shelld_c"; done'
		if [[ $__shelld_seen && $1 != *x* && ! -s $__shelld_f ]]; then
			__shelld_c=$__shelld_line
			__shelld_x=$__shelld_t$'\n'$__shelld_m"B;$__shelld_s;"$__shelld_z
		else # so that the trace of eval, the output of a DEBUG trap, or a prompt elsewhere comes before
			__shelld_c='__shelld_began "$__shelld_u"'
			((__shelld_y == 0)) || __shelld_c+=' && :' # it returns that status, which is no failure then
			__shelld_c+=$'\n'$__shelld_line __shelld_x=''
		fi
		__shelld_tell "L;$__shelld_s;1;1"
	fi
	READLINE_LINE+=' '
	READLINE_POINT=${#READLINE_LINE} __shelld_h=$READLINE_LINE
	__shelld_hide
	__shelld_accept accept-line
}

# aliased reports whether the line contains an alias that is more than plain words: the line might be incomplete with
# it. An argument of a line of plain words that looks like an alias also counts.
__shelld_aliased() {
	((${#BASH_ALIASES[@]})) || builtin return 1
	builtin local __shelld_rest="$__shelld_line" __shelld_seen=' ' __shelld_word __shelld_text
	while [[ $__shelld_rest ]]; do
		__shelld_word=${__shelld_rest%%[ $'\t;&|<>']*}
		if [[ ! $__shelld_word ]]; then
			__shelld_rest=${__shelld_rest:1}
			builtin continue
		fi
		__shelld_rest=${__shelld_rest:${#__shelld_word}}
		[[ ${BASH_ALIASES[$__shelld_word]+x} && $__shelld_seen != *" $__shelld_word "* ]] || builtin continue
		__shelld_text=${BASH_ALIASES[$__shelld_word]}
		[[ $__shelld_text != *[![:alnum:]_\ =./:,+%@-]* && " $__shelld_text " != *\ @(if|then|else|elif|fi|for|while|until|do|done|case|esac|select|function|coproc|in|time|history|fc)\ * ]] || builtin return 0
		__shelld_seen+="$__shelld_word " __shelld_rest+=" $__shelld_text"
	done
	builtin return 1
}

# If PS0 cannot report that a command begins, the command does so itself.
__shelld_began() {
	{
		builtin set -- "$?"
		__shelld_g[0]=1
		builtin printf '%s\n\e]633;shelld;%s;B;%s;\a' "$__shelld_t" "$__shelld_n" "$__shelld_s" >/dev/tty
		__shelld_retrap
		builtin return "$1"
	} 2>/dev/null
}

# untrap saves the user's ERR trap, which an eval would run once more for itself. The key then removes it, which no
# function can do, and retrap sets it again, within the eval or if that does not run.
__shelld_untrap() {
	builtin local -
	builtin local -a __shelld_line
	builtin set +aeux
	builtin mapfile -d '' -n 1 -t __shelld_line <"$__shelld_f"
	__shelld_j=${__shelld_line[0]-}
}

__shelld_retrap() {
	[[ $__shelld_j ]] || builtin return 0
	builtin local -
	builtin set +aeux
	builtin eval "builtin $__shelld_j"
	__shelld_j=''
}

# The key that runs hidden code, with the status at the prompt. Bash itself restores $? after a key.
__shelld_hidden() {
	builtin local - __shelld_w
	builtin local -a __shelld_line
	builtin set +aefuvxCkET
	__shelld_read || builtin return 0
	__shelld_became "$1"
	builtin eval "${__shelld_line:-:} && :" >/dev/null && : # && :, so that a failure runs no ERR trap
	__shelld_tell "H;${__shelld_w:1};$?;1"
}

# became STATUS reports what happened to the last command, whose status is STATUS if it has ended. A command that was
# loaded and has not begun never runs.
__shelld_became() {
	if [[ ${__shelld_g[0]} ]] && ! __shelld_hooked; then
		__shelld_ended_in "$1"
		__shelld_prompt
	elif [[ ! $__shelld_s ]]; then
		__shelld_tell "$__shelld_a"
	elif [[ ${__shelld_g[0]} ]]; then
		__shelld_tell "B;$__shelld_s"
	else
		READLINE_LINE='' READLINE_POINT=0 __shelld_c=''
		__shelld_accept redraw-current-line
		__shelld_retrap
		__shelld_unhide
		# A command typed at this prompt is not one of ours.
		__shelld_h='' __shelld_x=$__shelld_m'B;0;'$__shelld_z
		__shelld_a="D;$__shelld_s" __shelld_s=''
		__shelld_tell "$__shelld_a"
	fi
}

# hooked reports whether a prompt would report the end of the running command. If not, and the editor reads a line, it
# is taken to be that of the prompt: the command has removed our hooks and has ended.
__shelld_hooked() {
	[[ "${PROMPT_COMMAND[*]-}" == *"$__shelld_e"* || $__shelld_p && ${PS1-} == *"$__shelld_p"* ]]
}

# dump FILE writes the exported variables. Names are queried by their first letters, which needs no process.
__shelld_dump() {
	builtin local __shelld_i __shelld_j __shelld_l
	for __shelld_i in _ {a..z} {A..Z}; do
		builtin eval "__shelld_l=(\"\${!$__shelld_i@}\")"
		for __shelld_j in "${__shelld_l[@]}"; do
			[[ $__shelld_j != __shelld_* && $__shelld_j != READLINE_* && ! -R $__shelld_j && ${!__shelld_j+x} ]] || builtin continue
			builtin eval "__shelld_l=\${$__shelld_j@a}"
			[[ $__shelld_l == *x* && $__shelld_l != *[aA]* ]] || builtin continue
			builtin printf '%s=%s\0' "$__shelld_j" "${!__shelld_j}"
		done
	done >|"$1"
}

__shelld_start() {
	builtin local - __shelld_map
	builtin set +aefuvxCkET
	builtin printf -v __shelld_m '\e]633;shelld;%s;' "$__shelld_n"
	__shelld_z=$'\a'
	for __shelld_map in emacs vi-insert vi-command; do
		builtin bind -m "$__shelld_map" -x '"\e[5379;1~": { __shelld_keep "${_-}"; builtin trap -p DEBUG ERR >|"$__shelld_f"; __shelld_trigger "$-" "$__shelld_u"; if [[ $__shelld_o ]]; then \builtin trap -p ERR >|"$__shelld_f"; __shelld_untrap; \builtin trap - ERR; fi; } 9>&2 2>/dev/null || { __shelld_keep "${_-}"; __shelld_trigger "$-" "$__shelld_u"; } 9>&- 2>/dev/null'
		builtin bind -m "$__shelld_map" -x '"\e[5379;3~": { __shelld_hidden "$?" "${_-}"; } 2>/dev/null'
	done
	__shelld_accept redraw-current-line
	__shelld_hooks
}

# struck is run by an interrupt while the user's files are read, unless they set a trap for it. Bash then abandons all
# files, as it does without a trap.
__shelld_struck() {
	[[ $__shelld_int != over ]] || builtin return 0 # in a trap that the user has made from it
	__shelld_start
	__shelld_int=over
	builtin trap - INT
	builtin kill -INT "$$"
	builtin : # interrupted instead: bash forgets an interrupt that comes with the last command of a trap
}

# unguard removes that trap, but not one of the user's.
__shelld_unguard() {
	builtin local -
	builtin local -a __shelld_line
	builtin set +aefuvxCkET
	builtin trap -p INT >|"$__shelld_f"
	builtin mapfile -d '' -n 1 -t __shelld_line <"$__shelld_f"
	[[ ${__shelld_line[0]-} != "trap -- '$__shelld_trap' "*INT* ]] || builtin trap - INT
	__shelld_int=over
}

\builtin trap "$__shelld_trap" INT
[[ ! $__shelld_int ]] || { __shelld_struck; } 2>/dev/null
case @USER@ in
rc) if [[ -r ~/.bashrc ]]; then . ~/.bashrc; fi ;;
file) if [[ -r @FILE@ ]]; then . @FILE@; fi ;;
login)
	if [[ -r /etc/profile ]]; then . /etc/profile; fi
	if [[ -r ~/.bash_profile ]]; then . ~/.bash_profile
	elif [[ -r ~/.bash_login ]]; then . ~/.bash_login
	elif [[ -r ~/.profile ]]; then . ~/.profile; fi ;;
esac

{ __shelld_start; } 2>/dev/null
{ __shelld_unguard; } 2>/dev/null
