import { Option } from 'commander';
import { formatUsd } from '../../money.ts';
import { budgetBody } from '../../operations/budget-scope.ts';
import type { Reader } from '../../operations/registry.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { KeyView, NewKeyView } from '../../operations/schemas/keys.ts';
import { timeText } from '../../operations/times.ts';
import { DEFAULT_PROJECT } from '../../store/accounts/projects.ts';
import { capText } from '../../terminal/budget-words.ts';
import { right } from '../../terminal/table.ts';
import { createTimeFormat } from '../../terminal/time.ts';
import { LASTING_PERIODS, type LastingPeriod, readAlerts, readAmount } from '../budgets/read.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp, UNASKED } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { readCount, readDuration } from '../input/values.ts';
import { printList } from '../print-list.ts';
import { withGateway } from '../with-gateway.ts';

export const keys: SetUp = (command, context) => {
  create(command, context);
  list(command, context);
  rotate(command, context);
  revoke(command, context);
};

const create: SetUp = (command, context) =>
  command
    .command('create')
    .description('create a key and print it; it is shown only once')
    .option('-p, --project <name>', 'project to charge', DEFAULT_PROJECT)
    .option('--admin', 'allow it to see and manage all projects')
    .option('--label <text>', 'label to tell it from other keys')
    .option('--expires <time>', 'how long it works, such as 30d')
    .option('--models <names>', 'the only models that it may use: gpt-4.1-mini,claude-*')
    .option('--rpm <count>', 'how many requests it may make in a minute')
    .option('--budget <usd>', "the key's own cap in dollars, such as 5")
    .addOption(new Option('--period <period>', 'of that cap (default: daily)').choices(LASTING_PERIODS))
    .option('--alert <percents>', 'of that cap, such as 50,80,95 (default: 80)')
    .option(...AS_JSON)
    .action(async ({ project, admin = false, label = null, json, ...options }) => {
      const models = options.models?.split(',').map((model) => model.trim()) ?? null;
      const rpm = options.rpm === undefined ? null : readCount(options.rpm, '--rpm', { min: 1, max: 10_000 });
      const expires_at = expiryOf(context, options.expires) ?? null;
      const cap = capOf(options);
      const created = await withGateway(context, async (gateway) => {
        const key = await gateway.createKey({ project_id: project, admin, label, models, rpm, expires_at });
        return cap ? { ...key, budget: await capKey(gateway, { key, cap }) } : key;
      });
      if (json) sayJson(context, created);
      else say(context, created.key);
      const kind = admin ? 'admin key' : `key of project ${project}`;
      const expires = created.expires_at === null ? '' : ` It expires at ${created.expires_at}.`;
      const capped =
        'budget' in created ? ` Its budget is ${created.budget.id}: ${capText(created.budget)}.` : '';
      note(
        context,
        `This ${kind} is shown only once.${expires}${capped} To revoke it: gw keys revoke ${created.id}`,
      );
    });

/** The terms of the key's own budget; undefined without `--budget`. */
function capOf({ budget, period, alert }: { budget?: string; period?: LastingPeriod; alert?: string }) {
  if (budget !== undefined)
    return { capNanoUsd: readAmount(budget), period: period ?? 'daily', ...readAlerts(alert) };
  if (period === undefined && alert === undefined) return undefined;
  throw usageError(`--${period === undefined ? 'alert' : 'period'} is for the key's budget: add --budget 5`);
}

interface NewCap {
  key: NewKeyView;
  cap: NonNullable<ReturnType<typeof capOf>>;
}

/** Caps a key that nobody has yet. If that fails, the key is revoked. */
async function capKey(gateway: Reader, { key, cap }: NewCap): Promise<BudgetView> {
  const { id, project_id: project } = key;
  try {
    const namesake = (await gateway.keys({ project_id: project })).find(({ label }) => label === String(id));
    if (namesake)
      throw usageError(`key ${namesake.id} is labelled "${id}", the id of the new key. Try again`);
    return await gateway.setBudget(
      budgetBody({ ...cap, project, scope: { kind: 'key', value: String(id) } }),
    );
  } catch (error) {
    await gateway.revokeKey({ id });
    throw error;
  }
}

/** When a key expires that lives for a time such as `30d`; null for `never`. */
function expiryOf(context: Context, text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  return text === 'never' ? null : timeText(context.clock.now() + readDuration(text, '--expires'));
}

const rotate: SetUp = (command, context) =>
  command
    .command('rotate <key>')
    .description('replace a key, by id or label; its limits, budgets and spend stay')
    .option('--overlap <time>', 'how long the former key works too, or 0', '24h')
    .option('--expires <time>', 'how long the new one works, such as 30d, or never')
    .option(...AS_JSON)
    .action(async (text, options) => {
      const overlapMs = options.overlap === '0' ? 0 : readDuration(options.overlap, '--overlap');
      const expires_at = expiryOf(context, options.expires);
      const rotated = await withGateway(context, async ({ keys, rotateKey }) => {
        const all = await keys({});
        const found = all.find(({ label }) => label === text) ?? all.find(({ id }) => String(id) === text);
        if (!found) throw new CliError(`no live key "${text}". See: gw keys list`, EXIT.notFound);
        return rotateKey({ id: found.id, overlap_seconds: overlapMs / 1_000, expires_at });
      });
      if (options.json) sayJson(context, rotated);
      else say(context, rotated.key);
      const former =
        overlapMs === 0
          ? 'The former one no longer works.'
          : `The former one works until ${rotated.previous_key_expires_at}.`;
      note(context, `This is key ${rotated.id} from now on; it is shown only once. ${former}`);
    });

const list: SetUp = (command, context) =>
  command
    .command('list')
    .description('list keys, without their secrets')
    .option(...ONLY_PROJECT)
    .option('--all', 'include revoked keys')
    .option(...AS_JSON)
    .action(async ({ project, all, json }) => {
      const { rows, budgets, timezone } = await withGateway(context, async (reader) => ({
        rows: await reader.keys({ project_id: project, revoked: all }),
        budgets: json
          ? []
          : (await reader.budgets({ project_id: project })).filter(({ scope }) => scope?.kind === 'key'),
        timezone: (await reader.calendar()).timezone,
      }));
      const times = createTimeFormat(timezone);
      const now = context.clock.now();
      const at = (time: string) => times.moment(Date.parse(time), now);
      printList(
        context,
        rows,
        [
          right('id', ({ id }) => String(id)),
          { header: 'project', value: (key) => key.project_id, shrinks: true },
          { header: 'key', value: ({ hint }) => `sk-gw-...${hint}` },
          {
            header: 'kind',
            value: ({ admin, team }) => (team ? 'team' : admin ? 'admin' : 'project'),
            optional: true,
          },
          { header: 'label', value: ({ label }) => label ?? '', shrinks: true },
          {
            header: 'last used',
            value: ({ last_used_at: time }) => (time === null ? '-' : at(time)),
            optional: true,
          },
          right('spent', ({ spent_nano_usd }) => formatUsd(spent_nano_usd)),
          { header: 'until', value: (key) => endOf(key, { at, now }) },
          { header: '', value: (key) => limitsOf(key, budgets), wraps: true },
        ],
        { json },
      );
    });

function endOf(
  { revoked_at, expires_at }: KeyView,
  { at, now }: { at: (time: string) => string; now: number },
): string {
  if (revoked_at !== null) return 'revoked';
  if (expires_at === null) return '';
  return Date.parse(expires_at) <= now ? 'expired' : at(expires_at);
}

/** `budgets` are of keys. */
function limitsOf({ id, label, project_id, models, rpm }: KeyView, budgets: BudgetView[]): string {
  const caps = budgets
    .filter((budget) => budget.project_id === project_id)
    .filter(({ scope }) => scope?.value === (label ?? '') || scope?.value === String(id))
    .map((budget) => `${capText(budget)} ${budget.period}`);
  return [...caps, rpm === null ? '' : `${rpm}/min`, models?.join(', ')].filter(Boolean).join('  ');
}

const revoke: SetUp = (command, context) =>
  command
    .command('revoke <id>')
    .description('revoke a key, from the next request')
    .option(...UNASKED)
    .action(async (text, { yes }) => {
      const id = Number(text);
      if (!Number.isSafeInteger(id) || id < 1)
        throw usageError(`"${text}" is not the id of a key. See: gw keys list`);
      await withGateway(context, async ({ keys, revokeKey }) => {
        const key = (await keys({})).find((each) => each.id === id);
        if (key) {
          const loss = `This ends key ${key.label ?? id} of project ${key.project_id} for good: programs that use it get a 401.`;
          await confirmLoss(context, loss, { yes, scripted: true });
        }
        await revokeKey({ id });
      });
      note(context, `Revoked key ${id}.`);
    });
