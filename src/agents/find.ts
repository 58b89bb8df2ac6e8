import type { Agent } from './agent.ts';
import { AGENTS } from './table.ts';

export interface FoundAgent {
  agent: Agent;
  /** Number of words before the agent's arguments. */
  words: number;
}

/** Programs that run another program from their arguments, with the subcommands that do so. */
const WRAPPERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  npx: [[]],
  bunx: [[]],
  pnpx: [[]],
  uvx: [[]],
  npm: [['exec'], ['x']],
  pnpm: [['exec'], ['dlx']],
  yarn: [['exec'], ['dlx'], ['run'], []],
  bun: [['x'], ['run']],
  deno: [['run']],
  node: [[]],
  pipx: [['run']],
  uv: [['tool', 'run'], ['run']],
  poetry: [['run']],
  python: [[]],
  python3: [[]],
  env: [[]],
  nice: [[]],
  nohup: [[]],
  time: [[]],
  exec: [[]],
};
/** Wrapper options that take a value. */
const WITH_VALUE = ['-p', '--package', '--from', '--with', '--python', '--spec', '-n', '-u', '--env-file'];

/** Finds the agent that a command line starts, directly or through a wrapper such as npx. */
export function findAgent(words: readonly string[]): FoundAgent | undefined {
  for (let at = 0; at < words.length; ) {
    const agent = agentOf(words[at] ?? '');
    if (agent) return { agent, words: at + 1 };
    const next = afterWrapper(words, at);
    if (next === undefined) return undefined;
    at = next;
  }
  return undefined;
}

/** The agent that an executable, a package or a script in a package belongs to; versions are ignored. */
export function agentOf(word: string): Agent | undefined {
  const path = word.replaceAll('\\', '/');
  const name = (path.split('/').at(-1) ?? '').replace(/\.(cmd|exe|ps1|bat)$/i, '').toLowerCase();
  const unversioned = path.replace(/(?<=.)(@|==)[^/@=]*$/, '');
  return AGENTS.find(
    ({ binaries, packages }) =>
      binaries.includes(name) ||
      packages.some((each) => each === unversioned || path.includes(`node_modules/${each}/`)),
  );
}

/** Index of the wrapped command; undefined if the word at `at` is no wrapper. */
function afterWrapper(words: readonly string[], at: number): number | undefined {
  const name = (words[at] ?? '').replaceAll('\\', '/').split('/').at(-1) ?? '';
  const forms = WRAPPERS[name.replace(/\.(cmd|exe)$/i, '')];
  const form = forms?.find((each) => each.every((word, i) => words[at + 1 + i] === word));
  if (!form) return undefined;
  let next = at + 1 + form.length;
  for (; next < words.length; next++) {
    const word = words[next] ?? '';
    // `python -m MODULE`.
    if (word === '--' || (word === '-m' && name.startsWith('python'))) return next + 1;
    if (WITH_VALUE.includes(word)) next++;
    else if (!word.startsWith('-') && !/^\w+=/.test(word)) return next;
  }
  return next;
}
