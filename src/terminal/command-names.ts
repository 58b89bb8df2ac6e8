/** Names and aliases of all commands, available without loading the catalog. A test checks that they match it. */
export const COMMAND_NAMES: readonly string[] = [
  ...['init', 'start', 'stop', 'restart', 'status', 'serve', 'service', 'logs'],
  ...['doctor'],
  ...['env', 'run', 'connect', 'disconnect', 'coverage', 'models', 'optimize', 'route'],
  ...['usage', 'import', 'cache', 'replay', 'reconcile', 'limits', 'sessions', 'statusline'],
  ...['requests', 'tail'],
  ...['dashboard', 'top', 'open', 'budget', 'budgets', 'asks', 'approve', 'deny', 'prices'],
  ...['providers', 'projects', 'plan', 'keys', 'team', 'webhooks', 'config', 'backup'],
  ...['restore', 'login', 'logout', 'completion', 'complete'],
  ...['help'],
];

const NAMES = COMMAND_NAMES.join('|');

/** Rewrites gw commands in a text so that they work when pasted: in a checkout, `gw` becomes `./bin/gw`. */
export function pasteable(text: string, gw: string): string {
  return gw === 'gw' ? text : text.replace(commandStart('gw'), (command) => command.replace('gw', () => gw));
}

/** Matches the start of gw commands, but not the word alone, as in "gw is running". */
export function commandStart(gw: string): RegExp {
  const literal = gw.replace(/[^\w/-]/g, '\\$&');
  return new RegExp(`(?<![\\w./-])${literal} (?:${NAMES}|--help)(?![\\w-])`, 'g');
}
