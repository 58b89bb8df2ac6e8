import { DEFAULT_PROJECT } from '../../store/accounts/projects.ts';
import { usdText } from '../../terminal/numbers.ts';
import { right } from '../../terminal/table.ts';
import { clean } from '../../terminal/text.ts';
import { cliKeyOf } from '../client/cli-keys.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { requireDaemon } from '../daemon/find.ts';
import { askLocal } from '../daemon/http.ts';
import { CliError, EXIT } from '../exit.ts';
import { printList } from '../print-list.ts';
import { remoteOf } from '../remote/connection.ts';
import { withStore } from '../with-store.ts';

interface Model {
  id: string;
  /** The target of an alias. */
  alias_for?: string;
  /** Dollars per million tokens if gw adds it. A provider's own pricing, of any shape, is passed on instead. */
  pricing?: { input?: unknown; output?: unknown } | null;
  /** The provider doesn't list it: its maker's SDK names it. */
  unpriced?: boolean;
}

interface Models {
  data: Model[];
  errors: { provider: string; error: string }[];
  /** Models that the makers' newest SDKs name and gw has no price of. */
  unpriced: string[];
}

/** gw asks every provider for its list, which takes as long as the slowest one. */
const TIMEOUT_MS = 30_000;

export const models: SetUp = (command, context) =>
  command
    .argument('[text]', 'only models whose name contains this')
    .option('-p, --project <name>', 'project to ask for', DEFAULT_PROJECT)
    .option(...AS_JSON)
    .action(async (text, { project, json }) => {
      const search = text?.toLowerCase() ?? '';
      const { data, errors, unpriced } = await fetchModels(context, project);
      const known = new Set(data.map(({ id }) => id));
      const more: Model[] = unpriced
        .filter((id) => !known.has(id))
        .map((id) => ({ id, pricing: null, unpriced: true }));
      const matches = [...data, ...more].filter(({ id }) => id.toLowerCase().includes(search));
      for (const { provider, error } of errors) {
        note(
          context,
          clean(`cannot list the models of ${provider}: ${error}. See: gw providers test ${provider}`),
        );
      }
      if (json) return sayJson(context, matches);
      if (matches.length === 0) {
        throw new CliError(
          `no models${text ? ` with "${text}" in their name` : ''}. See: gw providers test`,
          EXIT.notFound,
        );
      }
      const noPrice = new Set(unpriced);
      say(context, 'Prices in dollars per million tokens\n');
      printList(
        context,
        matches,
        [
          {
            header: 'model',
            value: ({ id, alias_for }) => (alias_for === undefined ? id : `${id} > ${alias_for}`),
            shrinks: true,
          },
          right('input', ({ id, pricing }) => (noPrice.has(id) ? 'unpriced' : price(pricing?.input))),
          right('output', ({ id, pricing }) => (noPrice.has(id) ? '' : price(pricing?.output))),
        ],
        { json },
      );
      if (matches.some(({ id }) => noPrice.has(id))) {
        note(
          context,
          'Budgets refuse unpriced models. For newer prices: gw prices update   To set one: gw prices set MODEL --input X --output Y',
        );
      }
      if (matches.some(({ id, pricing }) => !noPrice.has(id) && price(pricing?.input) === UNKNOWN))
        note(context, `gw may know a price that is shown as ${UNKNOWN}: gw prices list MODEL`);
    });

const UNKNOWN = '-';

const price = (usd: unknown): string => (typeof usd === 'number' ? usdText(usd) : UNKNOWN);

async function fetchModels(context: Context, project: string): Promise<Models> {
  const remote = remoteOf(context);
  if (remote) return modelsIn(await remote.ask({ path: '/v1/models' }));
  const { local } = await requireDaemon(context);
  const key = await withStore(context, (db) => cliKeyOf(context, db, project));
  const { status, body } = await askLocal(`${local}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
    timeoutMs: TIMEOUT_MS,
  });
  if (status === 401 || status === 403) throw new CliError(`gw refused the key (${status})`, EXIT.key);
  if (status !== 200) throw new CliError(`gw answered HTTP ${status}. See: gw logs`);
  return modelsIn(body);
}

function modelsIn(body: unknown): Models {
  const { data, errors = [], unpriced = [] } = (body ?? {}) as Partial<Models>;
  if (!Array.isArray(data)) throw new CliError('gw answered with no list of models. See: gw logs');
  return { data, errors, unpriced };
}
