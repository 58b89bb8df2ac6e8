import { DEFAULT_PROJECT } from '../../store/find-project.ts';
import { cliKeyOf } from '../cli-keys.ts';
import type { SetUp } from '../command.ts';
import { type Context, say, sayJson } from '../context.ts';
import { requireDaemon } from '../daemon/find.ts';
import { httpGet } from '../daemon/http.ts';
import { CliError, EXIT } from '../exit.ts';
import { table } from '../output/table.ts';
import { terminalOf } from '../output/terminal.ts';
import { withStore } from '../with-store.ts';

interface Model {
  id: string;
  owned_by?: string;
}

interface Options {
  project: string;
  json?: boolean;
}

/** Asking every provider for its list takes as long as the slowest. */
const TIMEOUT_MS = 30_000;

export const models: SetUp = (command, context) => {
  command
    .argument('[text]', 'only models whose name contains this')
    .option('-p, --project <name>', 'project that asks', DEFAULT_PROJECT)
    .option('--json', 'as JSON')
    .action((text: string | undefined, options: Options) => run(context, text, options));
};

async function run(context: Context, text: string | undefined, { project, json }: Options): Promise<void> {
  const { origin } = await requireDaemon(context);
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  const wanted = text?.toLowerCase() ?? '';
  const found = (await fetchModels(origin, key)).filter(({ id }) => id.toLowerCase().includes(wanted));
  if (json) {
    sayJson(context, found);
    return;
  }
  if (found.length === 0) {
    throw new CliError(
      `no model${text ? ` with "${text}" in its name` : ''}. See: gw providers test`,
      EXIT.notFound,
    );
  }
  const lines = table(
    found,
    [
      { header: 'model', value: ({ id }) => id, shrinks: true },
      { header: 'owner', value: ({ owned_by }) => owned_by ?? '', shrinks: true },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, lines.join('\n'));
}

async function fetchModels(origin: string, key: string): Promise<Model[]> {
  const { status, body } = await httpGet(`${origin}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
    timeoutMs: TIMEOUT_MS,
  });
  if (status === 401 || status === 403) throw new CliError(`gw refused the key (${status})`, EXIT.key);
  const list = typeof body === 'object' && body !== null ? (body as { data?: unknown }).data : undefined;
  if (status !== 200 || !Array.isArray(list)) throw new CliError(`gw answered ${status}. See: gw logs`);
  return list.filter((model): model is Model => typeof (model as Model | null)?.id === 'string');
}
