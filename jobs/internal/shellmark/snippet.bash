# Read by an interactive bash in place of the user's own file, which is read at the end. All
# functions are defined before that, so that no alias of the user's is in them; hooks
# restore $?, and set the options that they need for themselves alone (local -). They are called
# as { … } 2>/dev/null, where their trace goes; 9 is then what 2 is outside. What a DEBUG trap writes
# for the hook that ends a command is no output of the command.
#
# A name that does not begin with __shelld_ is the user's, a local one too: it may be read-only, which
# ends a function that assigns it, or be what the server is asked for. IFS is, so that nothing
# here is split into words, and read, which needs it, is not used.

if [[ @MODE@ == posix ]]; then # how a login shell, and one without files, is made to read ENV
	set +o posix
	shopt -u inherit_errexit
	@RESTORE@
	[[ ${HISTFILE-} != ~/.sh_history ]] || HISTFILE=~/.bash_history
fi

# An interrupt while files are read is the end of all of them, of ours too. So ours waits until there is all that it
# needs, and while the user's are read it is set up first; then the interrupt has its way (__shelld_struck).
declare -g +x __shelld_int=''
\builtin trap '__shelld_int=1' INT

declare -g +x __shelld_n=@NONCE@ __shelld_d=@COMMANDS@ # the nonce; what commands are read from
declare -g +x __shelld_f=@SCRATCH@ # what builtins write to be read at once
declare -g +x __shelld_y=''                       # the last status
declare -g +x __shelld_v=$((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1]))
declare -g +x __shelld_c='' __shelld_t=''         # the command; its text to be shown
declare -g +x __shelld_x='' __shelld_u=''         # what PS0 writes; $_ before a key
declare -g +x __shelld_h='' __shelld_l=''         # the line of ours that runs; it is kept out of history
declare -g +x __shelld_k='' __shelld_b=''         # the number of the last line of history at the prompt; that line
declare -g +x __shelld_s='' __shelld_a='E;0;0;'   # the number of what was loaded and is not over; what is told of the last that is
declare -ga +x __shelld_g=('')                    # it has begun; an array, which "set -a" exports to nobody
declare -g +x __shelld_m='' __shelld_z=''         # the beginning of a mark, and its end
declare -g +x __shelld_e='{ __shelld_ended; } >/dev/null 2>&1'
((__shelld_v >= 501)) || __shelld_e='{ __shelld_ended && :; } >/dev/null 2>&1' # which is no failure to a trap for ERR, nor to -e
declare -g +x __shelld_r='{ __shelld_prompt; } 9>&2 2>/dev/null || { __shelld_prompt; } 9>&- 2>/dev/null' # 2 may be closed
declare -g +x __shelld_2='\[${__shelld_m:+${__shelld_m}M$__shelld_z}\]'
declare -g +x __shelld_o='' __shelld_j=''         # a trap is to be taken away; the user's for ERR, which was
declare -g +x __shelld_p='' __shelld_q='' __shelld_0=''
declare -g +x __shelld_deaf=''                    # what Ready says besides
declare -g +x __shelld_trap='{ __shelld_struck; } 2>/dev/null' # what an interrupt runs before the first prompt

# tell PAYLOAD writes a mark.
__shelld_tell() { builtin printf '\e]633;shelld;%s;%s\a' "$__shelld_n" "$1" >/dev/tty; }

# escape TEXT sets __shelld_reply to what a field of a mark may be. Where LC_ALL cannot be set,
# letters are not bytes, and some that need not be are looked at.
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

# show TEXT writes a command as a person has typed it. What would act on the terminal does not.
__shelld_show() {
	builtin local LC_ALL=C
	__shelld_t=$1
	((${#__shelld_t} <= 4096)) || __shelld_t=${__shelld_t:0:4096}…
	[[ $__shelld_t != *[[:cntrl:]]* ]] || __shelld_t=${__shelld_t//[$'\x01'-$'\x08'$'\x0b'-$'\x1f'$'\x7f']/?}
	__shelld_t=${__shelld_t%$'\n'}
}

# The first of PROMPT_COMMAND: the command has ended. What the user's own hooks see of it bash restores
# for each of them; where all are one text, this returns it.
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

# typed sets __shelld_text to what was typed: the last line of history, where that is the one behind the last
# that the prompt has seen, or has taken its place, as where the same line is taken out further up. What the
# command itself has done to history can leave another's line there. A line of ours that has got there all the same
# is taken out.
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

# hide keeps lines that end with a space, as ours do, out of history, until unhide. Taken out
# afterwards, they would be in what exit, exec and "history -a" write. Bash takes up what HISTIGNORE says
# where it is set or unset by its own name: by another it gets the user's value again, for all
# to see. As it cannot be unset so, it is an array without elements then.
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

# unhide has bash take up the user's value again, which the command may have set.
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

# last sets __shelld_number and __shelld_entry to the last line of history, or 0 and nothing, by way of a file: no process is
# needed. It is taken apart without =~, which would set BASH_REMATCH.
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

# The last of PROMPT_COMMAND: what a theme or a command has set anew gets our part again.
__shelld_prompt() {
	builtin local - __shelld_number __shelld_entry
	builtin set +aefuvxCkET
	__shelld_last
	__shelld_k=$__shelld_number __shelld_b=$__shelld_entry
	__shelld_accept redraw-current-line
	__shelld_wrap
	[[ -t 9 && $__shelld_q && ${PS1-} == *"$__shelld_q" ]] || __shelld_tell "R$__shelld_deaf" # the prompt does not
	builtin return 0
}

# wrap puts our parts around the user's.
__shelld_wrap() {
	__shelld_deaf=';off' # no keys are read then
	[[ ! -o emacs && ! -o vi ]] || __shelld_deaf=''
	__shelld_x=$__shelld_m'B;0;'$__shelld_z
	__shelld_hooks
	__shelld_p='\[${__shelld_m:+${__shelld_m}e;$?;$PWD$__shelld_z}\]'
	__shelld_q='\[${__shelld_m:+${__shelld_m}R$__shelld_deaf$__shelld_z}\]'
	__shelld_0='${__shelld_x+${__shelld_x:$((__shelld_g[0]=1,0))}}'
	if [[ $BASHOPTS != *promptvars* ]]; then
		# PS1 would have the nonce itself, for all to see where somebody exports it.
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

# free NAME says whether a variable may be set.
__shelld_free() {
	builtin local -n __shelld_other=$1
	[[ ${__shelld_other@a} != *r* ]]
}

# hooks puts ours around the others of PROMPT_COMMAND.
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

# read sets __shelld_line to what is in the FIFO, and __shelld_w to its mode and number. What does not end
# as it must has come to its end early.
__shelld_read() {
	builtin mapfile -d '' -n 2 -t __shelld_line <"$__shelld_d"
	__shelld_w=${__shelld_line[0]-} __shelld_line=${__shelld_line[1]-}
	[[ $__shelld_line == $'\x04'*$'\x04' ]] || builtin return 1
	__shelld_line=${__shelld_line:1:-1}
}

# accept COMMAND is what the key behind that of a command does: it accepts the line once the command stands there,
# and nothing before. Where a search, a quote or an escape takes the first key, or half of it, what somebody has half typed
# or found does not run.
__shelld_accept() {
	builtin local __shelld_map
	for __shelld_map in emacs vi-insert vi-command; do
		builtin bind -m "$__shelld_map" '"\e[5379;2~": '"$1"
	done
}

# The key that has the command in the FIFO run. What follows is another, which accepts the line.
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
		# An interrupt that comes while readline takes the line over takes the first character away.
		__shelld_c=$__shelld_line READLINE_LINE=" $__shelld_line"
		__shelld_x=$__shelld_m"B;$__shelld_s;"$__shelld_z
		__shelld_tell "L;$__shelld_s;0;1"
	else
		__shelld_show "$__shelld_line"
		[[ ! -s $__shelld_f ]] || __shelld_o=1
		# An eval that ends so leaves the parser in the middle of a word: for is none at the next line.
		[[ $__shelld_line != *\\ ]] || __shelld_line+=$'\n\n'
		READLINE_LINE=' \builtin eval "$__shelld_c"'
		# In a loop, an interrupt ends all lines, and not just the one that runs.
		# But behind a syntax error in an eval bash takes no for: its parser is in the middle of one.
		[[ $__shelld_line != *$'\n'* || $1 == *a* || $__shelld_y == 2 ]] ||
			READLINE_LINE=' for __shelld_i in 1; do \builtin eval "$__shelld_c"; done'
		if [[ $__shelld_seen && $1 != *x* && ! -s $__shelld_f ]]; then
			__shelld_c=$__shelld_line
			__shelld_x=$__shelld_t$'\n'$__shelld_m"B;$__shelld_s;"$__shelld_z
		else # the trace of eval, what a trap for DEBUG writes, or a prompt elsewhere, is to come before
			__shelld_c='__shelld_began "$__shelld_u"'
			((__shelld_y == 0)) || __shelld_c+=' && :' # it returns that, which is no failure then
			__shelld_c+=$'\n'$__shelld_line __shelld_x=''
		fi
		__shelld_tell "L;$__shelld_s;1;1"
	fi
	READLINE_LINE+=' '
	READLINE_POINT=${#READLINE_LINE} __shelld_h=$READLINE_LINE
	__shelld_hide
	__shelld_accept accept-line
}

# aliased says whether the line has an alias that is more than plain words: the line might not be whole with that.
# What a line of plain words has that looks like an alias and is an argument counts as well.
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

# Where PS0 cannot tell that a command begins, it does so itself.
__shelld_began() {
	{
		builtin set -- "$?"
		__shelld_g[0]=1
		builtin printf '%s\n\e]633;shelld;%s;B;%s;\a' "$__shelld_t" "$__shelld_n" "$__shelld_s" >/dev/tty
		__shelld_retrap
		builtin return "$1"
	} 2>/dev/null
}

# untrap takes up what the user's trap for ERR is, which an eval would run once more for itself. The key
# then takes it away, as no function can, and retrap sets it again, within the eval or where that does not run.
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

# The key that has hidden code run. Bash itself restores $? behind a key.
__shelld_hidden() {
	builtin local - __shelld_w
	builtin local -a __shelld_line
	builtin set +aefuvxCkET
	__shelld_read || builtin return 0
	__shelld_became
	builtin eval "${__shelld_line:-:} && :" >/dev/null && : # where that fails, no trap for ERR runs
	__shelld_tell "H;${__shelld_w:1};$?;1"
}

# became tells what has become of the command before. One that was loaded and not begun does not run any more.
__shelld_became() {
	if [[ ! $__shelld_s ]]; then
		__shelld_tell "$__shelld_a"
	elif [[ ${__shelld_g[0]} ]]; then
		__shelld_tell "B;$__shelld_s"
	else
		READLINE_LINE='' READLINE_POINT=0 __shelld_c=''
		__shelld_accept redraw-current-line
		__shelld_retrap
		__shelld_unhide
		# What somebody types at this prompt is no command of ours.
		__shelld_h='' __shelld_x=$__shelld_m'B;0;'$__shelld_z
		__shelld_a="D;$__shelld_s" __shelld_s=''
		__shelld_tell "$__shelld_a"
	fi
}

# dump FILE writes what is exported. Names are asked for by their first letters, which
# needs no process.
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
		builtin bind -m "$__shelld_map" -x '"\e[5379;3~": { __shelld_hidden "${_-}"; } 2>/dev/null'
	done
	__shelld_accept redraw-current-line
	__shelld_hooks
}

# struck is what an interrupt runs while the user's files are read, unless they have a trap of their own for it. Bash then
# gives up all files as it does where nobody has one.
__shelld_struck() {
	[[ $__shelld_int != over ]] || builtin return 0 # in a trap that the user has made of it
	__shelld_start
	__shelld_int=over
	builtin trap - INT
	builtin kill -INT "$$"
	builtin : # which is interrupted: what comes with the last command of a trap bash forgets
}

# unguard takes that trap away, and leaves the user's.
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
