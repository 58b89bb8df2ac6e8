import { dirname, isAbsolute, join } from 'node:path';
import { foreignKeysIn } from '../run/environment.ts';
import { optionValue, takeOption } from '../run/options.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

const FILE = 'aider.env';
const ADDRESS = ['--openai-api-base', '--openai-api-key', '--anthropic-api-key'];
const MODELS = ['--model', '--weak-model', '--editor-model'];
/** aider's aliases for models of other providers. */
const OTHERS = /^(deepseek|flash|flash-lite|quasar|r1|gemini|gemini-.*|grok3|optimus)$/;

/**
 * aider: an env file for this run. aider loads env files over the environment, the file of `--env-file` last. AIDER_
 * variables in it override .aider.conf.yml.
 */
export function pointAider(start: Start): Pointing {
  const { origin, key } = start;
  const envFile = takeOption(start.args, ['--env-file']);
  const address = takeOption(envFile.rest, ADDRESS);
  const base = `${origin}/v1`;
  const lines = Object.entries({
    OPENAI_API_BASE: base,
    OPENAI_BASE_URL: base,
    OPENAI_API_KEY: key,
    ANTHROPIC_API_BASE: origin,
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_API_KEY: key,
    AIDER_OPENAI_API_BASE: base,
    AIDER_OPENAI_API_KEY: key,
    AIDER_ANTHROPIC_API_KEY: key,
  }).map(([name, value]) => `${name}=${value}`);
  const own = envFile.values.at(-1);
  const text = own === undefined ? undefined : start.files.read(isAbsolute(own) ? own : join(start.cwd, own));
  const bypass = bypassOf(start);
  return {
    args: ['--env-file', join(start.folder, FILE), ...address.rest],
    env: {},
    files: { [FILE]: `${[...(text === undefined ? [] : [text]), ...lines].join('\n')}\n` },
    notes: [
      ...(address.values.length > 0
        ? [`left out ${ADDRESS.join(', ')} where given: gw's address and key are used`]
        : []),
      ...folders(start).flatMap((folder) => notesOf(start, join(folder, '.env'))),
    ],
    ...(bypass && { bypass }),
  };
}

/** aider loads these .env files over the environment. */
function notesOf({ files }: Start, path: string): string[] {
  const names = foreignKeysIn(files.read(path) ?? '');
  return names.length === 0 ? [] : [`${path} sets ${names.join(', ')}: what uses them goes around gw`];
}

function bypassOf(start: Start): Bypass | undefined {
  const configs = folders(start).map((folder) => join(folder, '.aider.conf.yml'));
  const texts = configs.map((path) => [path, start.files.read(path) ?? ''] as const);
  const setting = texts.find(([, text]) => /ANTHROPIC_(API_BASE|BASE_URL)\s*=/.test(text));
  if (setting)
    return { reason: `set-env in ${setting[0]} sets Anthropic's address`, remedy: 'Remove it from there' };
  const flags = MODELS.flatMap((name) => optionValue(start.args, name) ?? []);
  const files = texts.flatMap(([, text]) =>
    [...text.matchAll(/^[ \t]*(?:model|weak-model|editor-model)\s*:\s*["']?([^\s"'#]+)/gm)].flatMap(
      ([, name]) => name ?? [],
    ),
  );
  const other = [...flags, ...files].find(isOther);
  if (other === undefined) return undefined;
  return {
    reason: `the model ${other} belongs to a provider that aider calls directly`,
    remedy: `Use it through gw: --model openai/${other}`,
  };
}

function isOther(model: string): boolean {
  const [provider = ''] = model.split('/');
  return model.includes('/') ? provider !== 'openai' && provider !== 'anthropic' : OTHERS.test(model);
}

/** Folders in which aider looks for its files: home, repository root, working directory. */
function folders({ home, cwd, files }: Start): string[] {
  let root = cwd;
  while (!files.list(root).includes('.git') && dirname(root) !== root) root = dirname(root);
  return [...new Set([home, ...(files.list(root).includes('.git') ? [root] : []), cwd])];
}

/** https://aider.chat/docs/config/aider_conf.html */
export const connectAider: Connecting = {
  needsModel: false,
  edits: ({ home, origin, key, model }) => [
    {
      path: join(home, '.aider.conf.yml'),
      format: 'yaml',
      changes: [
        ...membersOf([], {
          'openai-api-base': `${origin}/v1`,
          'openai-api-key': key,
          'anthropic-api-key': key,
          ...(model && { model: `openai/${model}`, 'weak-model': `openai/${model}` }),
        }),
        // LiteLLM prefers OPENAI_BASE_URL to the address that aider passes.
        ...[`OPENAI_BASE_URL=${origin}/v1`, `ANTHROPIC_API_BASE=${origin}`].map((value) => ({
          path: ['set-env', { text: value.replace(/=.*/, '=') }],
          value,
        })),
      ],
    },
  ],
  proof: (model) => (model === undefined ? { model: `openai/${FREE_MODEL}` } : {}),
  notes: () => [
    'an .aider.conf.yml or .env in a project, and models of other providers than OpenAI and Anthropic, go around gw',
  ],
};
