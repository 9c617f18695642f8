# Read by zsh as .zshenv of our directory, before any file of the user's. ZDOTDIR is restored first, so that all other
# files are read as usual. The functions of the hooks are defined here, before any alias or option of the user's is set;
# the first prompt then sets everything up.
#
# A hook begins with emulate -L zsh, in braces that send its trace to /dev/null.
#
# A name that does not begin with __shelld_ is the user's, also as a local variable: it may be read-only, which ends a
# function that assigns it, or be the variable that the server is asked for. This includes variables that zsh sets by
# itself, such as MATCH, and IFS.

@RESTORE@

builtin typeset -g +x __shelld_n=@NONCE@ __shelld_d=@COMMANDS@ # the nonce; the FIFO of the commands
builtin typeset -g +x __shelld_c='' __shelld_t=''         # the command; its text to show
builtin typeset -g +x __shelld_o='' __shelld_u=''         # the running command is ours; $_ before the hooks
builtin typeset -g +x __shelld_i='' __shelld_w=''         # the user's own zle-line-init; it is running
builtin typeset -g +x __shelld_s='' __shelld_g=''         # number of the loaded command until it is over; it has begun
builtin typeset -g +x __shelld_a='E;0;0;'                 # report of the last command that is over
builtin typeset -g +x __shelld_h=''                       # state of HISTFILE while history is hidden: set, exported or unset

# tell PAYLOAD writes a mark.
__shelld_tell() { builtin printf '\e]633;shelld;%s;%s\a' "$__shelld_n" "$1" 2>/dev/null >/dev/tty }

# escape TEXT sets __shelld_reply to TEXT as a field of a mark.
__shelld_escape() {
	__shelld_reply=$1
	[[ $__shelld_reply == *[[:cntrl:]%\;]* ]] || builtin return 0
	builtin setopt local_options no_multibyte
	builtin local __shelld_byte __shelld_char
	__shelld_reply=${${__shelld_reply//\%/%25}//;/%3B}
	[[ $__shelld_reply == *[[:cntrl:]]* ]] || builtin return 0
	for __shelld_byte in {0..31} 127; do
		__shelld_char=${(#)__shelld_byte}
		__shelld_reply=${__shelld_reply//$__shelld_char/%${(l:2::0:)$(([##16]__shelld_byte))}}
	done
}

# free NAME reports whether a variable may be set.
__shelld_free() { [[ ${(Pt)1} != *readonly* ]] }

# precmd: the command has ended. The mark in PROMPT_EOL_MARK has reported it before, if zsh prints that; this one is for
# users who have switched it off.
__shelld_precmd() {
	{
		builtin local __shelld_status="$?" __shelld_last="$_"
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export no_warn_create_global
		builtin trap '' INT # until the end of this function: its report must not be lost
		builtin local __shelld_reply
		__shelld_unhide
		__shelld_u=$__shelld_last
		__shelld_escape "$PWD"
		if [[ -n $__shelld_g ]]; then
			__shelld_a="E;${__shelld_s:-0};$__shelld_status;$__shelld_reply"
		elif [[ -n $__shelld_s ]]; then
			__shelld_a="D;$__shelld_s"
		fi
		__shelld_s='' __shelld_g='' __shelld_o='' __shelld_w=''
		__shelld_tell "$__shelld_a"
		__shelld_wrap
	} 2>/dev/null
}

# wrap puts our hooks in their places, again at each prompt.
__shelld_wrap() {
	builtin local __shelld_e=$'%{\e]633;shelld;'$__shelld_n$';e;%?;%/\a%}' __shelld_map
	if [[ ${PROMPT_EOL_MARK-} != "$__shelld_e"* ]] && __shelld_free PROMPT_EOL_MARK; then
		builtin typeset -g +x PROMPT_EOL_MARK="$__shelld_e${PROMPT_EOL_MARK-%B%S%#%s%b}"
	fi
	[[ ${precmd_functions[1]-} == __shelld_precmd ]] || ! __shelld_free precmd_functions ||
		precmd_functions=(__shelld_precmd ${precmd_functions:#__shelld_precmd})
	[[ ${preexec_functions[-1]-} == __shelld_preexec ]] || ! __shelld_free preexec_functions ||
		preexec_functions=(${preexec_functions:#__shelld_preexec} __shelld_preexec)
	[[ ${zshaddhistory_functions[1]-} == __shelld_addhistory ]] || ! __shelld_free zshaddhistory_functions ||
		zshaddhistory_functions=(__shelld_addhistory ${zshaddhistory_functions:#__shelld_addhistory})
	if [[ ! -o zle ]]; then # no keys are read then, and no editor reports Ready
		__shelld_tell 'R;off'
		builtin return 0
	fi
	if [[ ${widgets[zle-line-init]-} != user:__shelld_line_init ]]; then
		__shelld_i=''
		if (( ${+widgets[zle-line-init]} )); then
			builtin zle -A zle-line-init __shelld_user_line_init
			__shelld_i=1
		fi
		builtin zle -N zle-line-init __shelld_line_init
	fi
	builtin zle -N __shelld_trigger
	builtin zle -N __shelld_hidden
	for __shelld_map in emacs viins vicmd main; do
		builtin bindkey -M $__shelld_map '\e[5379;1~' __shelld_trigger '\e[5379;3~' __shelld_hidden
	done
}

# line-init: the editor reads keys now. A widget that wraps ours may call it again.
__shelld_line_init() {
	{ builtin local __shelld_status="$?" } 2>/dev/null
	if [[ -n $__shelld_i && -z $__shelld_w ]]; then
		{
			__shelld_set_w 1
			builtin zle __shelld_user_line_init -- "$@"
		} always { # also after an interrupt
			__shelld_set_w ''
		}
	fi
	{
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export
		if [[ -z $__shelld_w && $CONTEXT == start ]]; then
			builtin trap '' INT
			if [[ -n $__shelld_g ]]; then # the hook that reports the end was removed
				builtin local __shelld_reply
				__shelld_escape "$PWD"
				__shelld_a="E;${__shelld_s:-0};$__shelld_status;$__shelld_reply" __shelld_s='' __shelld_g='' __shelld_o=''
			fi
			__shelld_became
			__shelld_tell R
		elif [[ -z $__shelld_w && $CONTEXT == cont ]]; then
			__shelld_tell M
		fi
	} 2>/dev/null
}

__shelld_set_w() {
	{
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_all_export
		__shelld_w=$1
	} 2>/dev/null
}

# preexec: a command line is about to run. If an interrupt comes during this function, it will not run, but $? then
# keeps its old value.
__shelld_preexec() {
	{ {
		builtin local __shelld_status="$?" __shelld_traced=${options[xtrace]}
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export
		builtin trap - DEBUG # until the end of this function: its output would mix with the command's
		__shelld_unhide
		builtin local __shelld_reply=$__shelld_t
		# The command finds the last argument in $_.
		if [[ $__shelld_o == 2 && $__shelld_traced == on ]]; then # the trace of eval must come before
			__shelld_reply='__shelld_began'
			(( __shelld_status == 0 )) || __shelld_reply+=' && :' # it returns that status, which is no failure then
			__shelld_c=$__shelld_reply$'\n'$__shelld_c
		elif [[ -n $__shelld_o ]]; then
			__shelld_g=1
			builtin printf '%s\e]633;shelld;%s;B;%s;\a%.0s' "$__shelld_reply" "$__shelld_n" "$__shelld_s" "$__shelld_u" >/dev/tty
		else
			__shelld_reply=${1:-$2}
			__shelld_escape "${__shelld_reply[1,65536]}"
			__shelld_s='' __shelld_g=1
			builtin printf '\e]633;shelld;%s;B;0;%s\a%.0s' "$__shelld_n" "$__shelld_reply" "$__shelld_u" >/dev/tty
		fi
	} always {
		if (( TRY_BLOCK_INTERRUPT > 0 )); then __shelld_missed; fi
	} } 2>/dev/null
}

# missed handles a line that does not run, though it may have been reported as begun.
__shelld_missed() {
	__shelld_unhide
	__shelld_g='' __shelld_a="D;$__shelld_s"
	[[ -n $__shelld_s ]] || __shelld_a='E;0;130;'
	__shelld_s='' __shelld_c='' __shelld_o=''
	__shelld_tell "$__shelld_a"
}

# began reports the start from within the line, if preexec has not.
__shelld_began() {
	{
		builtin local __shelld_status="$?"
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export
		builtin trap - ZERR
		__shelld_g=1
		builtin printf '%s\e]633;shelld;%s;B;%s;\a' "$__shelld_t" "$__shelld_n" "$__shelld_s" >/dev/tty
		builtin return $__shelld_status
	} 2>/dev/null
}

# hide puts history away, from when a line of ours is accepted until it is about to run. If it were only kept out by
# status 1, the arrow key would find it at the next prompt; and in another history the line can have the text that hooks
# must see. HISTFILE is unset during that time, so that no file is read or written.
__shelld_hide() {
	[[ -z $__shelld_h && ${preexec_functions[-1]-} == __shelld_preexec ]] && __shelld_free HISTFILE || builtin return 0
	builtin local __shelld_was=unset
	if [[ ${(t)HISTFILE-} == *export* ]]; then
		__shelld_was=exported
	elif (( ${+HISTFILE} )); then
		__shelld_was=set
	fi
	builtin fc -p && __shelld_h=$__shelld_was
}

# unhide is called when the line is about to run, or never will. A second call has no effect, unless an interrupt comes
# in between, and the user has also put a history away.
__shelld_unhide() {
	[[ -n $__shelld_h ]] || builtin return 0
	builtin fc -P
	[[ $__shelld_h != exported ]] || builtin typeset -gx HISTFILE
	__shelld_h=''
}

# addhistory keeps a line of ours out of history, both the one that is put away and the one in its place: preexec gets
# the last line there as the text of the command. That is the command itself then, and our line goes to a third history,
# which zsh drops after this hook. If a hook of the user's has also put a history away, its file gets none of our lines.
__shelld_addhistory() {
	{
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return
		[[ -n $__shelld_o ]] || builtin return 0
		builtin trap - ZERR # until the end of this function: status 1 is not a failure
		if [[ $__shelld_o == 2 && -n $__shelld_h && -z ${HISTFILE-} ]]; then
			builtin print -rs -- "${__shelld_c%$'\n'}"
			builtin fc -p
		fi
		builtin return 1
	} 2>/dev/null
}

# The key that runs the command in the FIFO. read drops blanks at both ends, so the text stands between two other
# characters.
__shelld_trigger() {
	{
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export extended_glob
		builtin local __shelld_code __shelld_how
		BUFFER='' CURSOR=0
		{ builtin read -r -d '' __shelld_how && builtin read -r -d '' __shelld_code } <$__shelld_d || builtin return 0
		__shelld_wrap
		__shelld_s=${__shelld_how[2,-1]} __shelld_g='' __shelld_o=1 __shelld_t='' __shelld_code=${__shelld_code[2,-2]}
		if [[ $__shelld_how == n* ]] && __shelld_whole; then
			BUFFER=$__shelld_code
			__shelld_tell "L;$__shelld_s;0"
		else
			__shelld_o=2 __shelld_c=$__shelld_code BUFFER=' \builtin \eval "$__shelld_c"'
			(( $#__shelld_code <= 4096 )) || __shelld_code=${__shelld_code[1,4096]}…
			__shelld_t=${${__shelld_code//([[:cntrl:]]~[$'\n\t'])/?}%$'\n'}$'\n'
			__shelld_tell "L;$__shelld_s;1"
		fi
		CURSOR=$#BUFFER
		__shelld_hide
		builtin zle .accept-line
	} 2>/dev/null
}

# whole reports whether __shelld_code is a complete line, about which the editor would not ask a question.
__shelld_whole() {
	[[ ! -o correct && ! -o correct_all ]] || builtin return 1
	! __shelld_aliased || builtin return 1
	builtin local __shelld_text
	for __shelld_text in $__shelld_code "{ $__shelld_code"$'\n}'; do # a line that continues is accepted only by the first test
		functions[__shelld_check]=$__shelld_text
		(( ${+functions[__shelld_check]} )) || builtin return 1
		builtin unfunction __shelld_check
	done
}

# aliased reports whether __shelld_code contains an alias with an incomplete construct that the parser would not report.
__shelld_aliased() {
	builtin local __shelld_word __shelld_text
	builtin local -a __shelld_words __shelld_seen
	__shelld_words=(${(z)__shelld_code})
	while (( $#__shelld_words )); do
		__shelld_word=$__shelld_words[1]
		builtin shift __shelld_words
		(( ! ${__shelld_seen[(Ie)$__shelld_word]} )) || builtin continue
		__shelld_seen+=($__shelld_word)
		for __shelld_text in ${aliases[$__shelld_word]-} ${galiases[$__shelld_word]-}; do
			[[ $__shelld_text != *[$'()`\n']* && $__shelld_text != *'<<'* && $__shelld_text != *\\ ]] || builtin return 0
			__shelld_words+=(${(z)__shelld_text})
		done
	done
	builtin return 1
}

# The key that runs hidden code. zsh itself restores $? after a widget.
__shelld_hidden() {
	{
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export
		builtin trap - ZERR
		builtin local __shelld_code __shelld_how
		{ builtin read -r -d '' __shelld_how && builtin read -r -d '' __shelld_code } <$__shelld_d || builtin return 0
		__shelld_became
		builtin eval "${__shelld_code[2,-2]}" >/dev/null
		__shelld_tell "H;${__shelld_how[2,-1]};$?"
	} 2>/dev/null
}

# became reports what happened to the last command. A command that was loaded and has not begun never runs.
__shelld_became() {
	__shelld_unhide
	if [[ -n $__shelld_s && -n $__shelld_g ]]; then
		__shelld_tell "B;$__shelld_s"
		builtin return 0
	elif [[ -n $__shelld_s ]]; then
		BUFFER='' __shelld_c='' __shelld_o=''
		__shelld_a="D;$__shelld_s" __shelld_s=''
	fi
	__shelld_tell "$__shelld_a"
}

# dump FILE writes the exported variables.
__shelld_dump() {
	builtin local __shelld_j
	for __shelld_j in ${(k)parameters[(R)*export*]}; do
		builtin print -rN -- "$__shelld_j=${(P)__shelld_j}"
	done >|$1
}

# The first prompt, after all files of the user's.
__shelld_first() {
	{
		builtin emulate -L zsh
		builtin setopt no_xtrace no_verbose no_err_exit no_err_return no_all_export no_warn_create_global
		builtin zmodload zsh/parameter zsh/zle
		__shelld_free precmd_functions && precmd_functions=(${precmd_functions:#__shelld_first})
		__shelld_wrap
	} 2>/dev/null
}

if [[ -o interactive ]]; then
	precmd_functions=(__shelld_first)
fi
if [[ @USER@ == none ]]; then
	builtin unsetopt rcs
elif [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then
	builtin source -- "${ZDOTDIR-$HOME}/.zshenv"
fi
