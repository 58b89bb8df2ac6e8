import { Argument } from 'commander';
import type { SetUp } from '../command.ts';
import { say } from '../context.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

/** The scripts ask gw for the next words, so they never go out of date. */
const SCRIPTS: Record<Shell, string> = {
  bash: `_gw_complete() {
  local IFS=$'\\n'
  COMPREPLY=($(gw complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _gw_complete gw`,
  zsh: `_gw_complete() {
  local -a found
  local line
  for line in "\${(@f)$(gw complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe gw found; else _files; fi
}
compdef _gw_complete gw`,
  fish: `complete -c gw -f -a '(gw complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
};

export const completion: SetUp = (command, context) => {
  command
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      '\nbash, ~/.bashrc:  eval "$(gw completion bash)"\nzsh, ~/.zshrc, after compinit:  eval "$(gw completion zsh)"\nfish:  gw completion fish > ~/.config/fish/completions/gw.fish',
    )
    .action((shell: Shell) => say(context, SCRIPTS[shell]));
};
