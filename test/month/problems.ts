import { statSync } from 'node:fs';
import { formatRequestId } from '../../src/ids.ts';
import type { Flag } from '../../src/store/ledger/record.ts';
import { getRequest, type LoggedRequest } from '../../src/store/requests/request-log.ts';
import type { TestGateway } from '../support/gateway.ts';
import { type Cap, type Case, DAY, KEPT_DAYS, type World } from './world.ts';

/** Costs are rounded up once a call. */
const ROUNDING_NANO_USD = 10;
/** Says on a record that its cost is an upper bound or a guess. */
const INEXACT = new Set<Flag>(['estimated', 'overrun', 'underheld']);
const MAX_LOG_BYTES = 64e6;
const MAX_DATABASE_BYTES = 64e6;
const MAX_HEAP_BYTES = 900e6;
const MAX_TIMERS = 200;
const MAX_CONNECTIONS = 60;

/** What the world shows of promises that were broken, after a step at whose end nothing runs. */
export async function problemsOf(world: World): Promise<string[]> {
  const fresh = await readRecords(world);
  return [
    ...caseProblems(world, fresh),
    ...capProblems(world),
    ...ledgerProblems(world),
    ...eventProblems(world),
    ...ageProblems(world),
    ...sizeProblems(world),
  ];
}

const first = ({ gateways }: World): TestGateway => gateways[0] as TestGateway;

/** Reads the records that are new. */
async function readRecords(world: World): Promise<LoggedRequest[]> {
  const { db } = first(world);
  const ids = db
    .prepare<[], number>('SELECT id FROM request_log ORDER BY id DESC LIMIT 200')
    .pluck()
    .all()
    .filter((id) => !world.records.has(id));
  const records = await Promise.all(ids.map((id) => getRequest(db, id)));
  const fresh = records.flatMap((record) => record ?? []);
  for (const record of fresh) world.records.set(record.id, record);
  return fresh;
}

/** What each case was billed, summed over its calls, or those of one provider. */
function billed({ provider }: World, by?: string): Map<number, number> {
  const sums = new Map<number, number>();
  for (const bill of provider.bills)
    if (by === undefined || bill.provider === by)
      sums.set(bill.case, (sums.get(bill.case) ?? 0) + bill.nanoUsd);
  return sums;
}

/** Each bill of the step is on a record, to the nano-dollar where the answer came to its end. */
function caseProblems(world: World, fresh: LoggedRequest[]): string[] {
  const bills = billed(world);
  const byId = new Map([...world.records.values()].map((record) => [formatRequestId(record.id), record]));
  const problems: string[] = [];
  const claimed = new Set<number>();
  const left = new Map<string, number>();
  for (const [number, each] of world.cases) {
    if (each.step !== world.step) continue;
    const nanoUsd = bills.get(number) ?? 0;
    const record = each.id === undefined ? undefined : byId.get(each.id);
    if (record) {
      claimed.add(record.id);
      problems.push(...recordProblems(number, each, record, nanoUsd));
    } else if (each.id !== undefined && nanoUsd > 0 && !world.killed.has(number))
      problems.push(`case ${number}: billed ${nanoUsd}, and no record`);
    else left.set(each.account.project, (left.get(each.account.project) ?? 0) + nanoUsd);
  }
  for (const [project, nanoUsd] of left) {
    const booked = fresh.filter((record) => record.project === project && !claimed.has(record.id));
    const sum = booked.reduce((total, { costNanoUsd }) => total + costNanoUsd, 0);
    if (sum + ROUNDING_NANO_USD < nanoUsd)
      problems.push(`${project}: clients that hung up were billed ${nanoUsd}, and ${sum} is booked`);
  }
  return problems;
}

function recordProblems(
  number: number,
  { status, complete }: Case,
  record: LoggedRequest,
  nanoUsd: number,
): string[] {
  const { costNanoUsd, holdNanoUsd, flags, outcome } = record;
  const text = `case ${number} (${status}, ${outcome}, ${flags.join(' ')})`;
  const problems: string[] = [];
  if (costNanoUsd + ROUNDING_NANO_USD < nanoUsd)
    problems.push(`${text}: billed ${nanoUsd}, booked ${costNanoUsd}`);
  if (holdNanoUsd + ROUNDING_NANO_USD < nanoUsd)
    problems.push(`${text}: billed ${nanoUsd}, held ${holdNanoUsd}`);
  const isExact = complete && status === 200 && outcome === 'ok' && !flags.some((flag) => INEXACT.has(flag));
  if (isExact && Math.abs(costNanoUsd - nanoUsd) > ROUNDING_NANO_USD)
    problems.push(`${text}: billed ${nanoUsd}, booked ${costNanoUsd} as exact`);
  return problems;
}

/** The truth against each cap: what the provider billed for the requests that it counts, by period. */
function capProblems(world: World): string[] {
  const byId = new Map([...world.records.values()].map((record) => [formatRequestId(record.id), record]));
  return world.caps.flatMap((cap) => {
    const bills = billed(world, cap.scope?.kind === 'provider' ? cap.scope.value : undefined);
    const spans = new Map<string, number>();
    const times: [number, number][] = [];
    for (const [number, each] of world.cases) {
      const nanoUsd = bills.get(number) ?? 0;
      const record = byId.get(each.id ?? '');
      if (nanoUsd === 0 || each.account.project !== cap.project || !counts(cap, each, record)) continue;
      const at = record?.heldAt ?? each.at;
      times.push([at, nanoUsd]);
      const span = `${periodOf(cap, at, world.zone)} ${cap.scope?.kind === 'each' ? record?.session : ''}`;
      spans.set(span, (spans.get(span) ?? 0) + nanoUsd);
    }
    const most = cap.period === 'rolling' ? mostInWindow(times, cap.windowMs ?? 0) : [...spans];
    return most
      .filter(([, nanoUsd]) => nanoUsd > cap.capNanoUsd)
      .map(
        ([span, nanoUsd]) =>
          `${cap.project} ${cap.period} ${cap.scope?.kind ?? ''}: ${nanoUsd} of ${cap.capNanoUsd} in ${span}`,
      );
  });
}

/** Whether a cap counts a request. Without a record, of what only a record tells, it does not. */
function counts({ scope }: Cap, { account }: Case, record: LoggedRequest | undefined): boolean {
  switch (scope?.kind) {
    case undefined:
    case 'provider':
      return true;
    case 'key':
      return account.hint === scope.value;
    case 'each':
      return record !== undefined && record.session !== '';
    default:
      return record?.labels.includes(`"${scope?.value}"`) ?? false;
  }
}

function mostInWindow(times: [number, number][], windowMs: number): [string, number][] {
  const sorted = times.toSorted(([a], [b]) => a - b);
  let from = 0;
  let sum = 0;
  let most: [string, number] = ['', 0];
  for (const [at, nanoUsd] of sorted) {
    sum += nanoUsd;
    while ((sorted[from]?.[0] ?? at) <= at - windowMs) sum -= sorted[from++]?.[1] ?? 0;
    if (sum > most[1]) most = [`the window that ends at ${new Date(at).toISOString()}`, sum];
  }
  return [most];
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The local day, month or week of a time, another way than by gw's calendar. */
function periodOf({ period }: Cap, at: number, zone: string): string {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-CA', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
    });
    formats.set(zone, format);
  }
  const day = format.format(at);
  if (period === 'monthly') return day.slice(0, 7);
  if (period !== 'weekly') return day;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return new Date(midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * DAY).toISOString().slice(0, 10);
}

const LEDGER_RULES: Record<string, string> = {
  'nothing is held at rest': 'SELECT * FROM open_holds',
  'nothing is pending at rest': 'SELECT * FROM budget_periods WHERE pending_nano_usd <> 0',
  'a request is in the journal or archived, not both':
    'SELECT j.id FROM journal j JOIN requests r ON r.id = j.id',
  'an event is once': `SELECT type, data FROM events WHERE type IN ('budget.exceeded', 'budget.reset')
    GROUP BY type, project_id, json_extract(data, '$.budget_id'), json_extract(data, '$.resets_at'),
      json_extract(data, '$.cap_usd'), json_extract(data, '$.started_at') HAVING count(*) > 1`,
  'an alert is once': `SELECT type, data FROM events WHERE type = 'budget.threshold_reached'
    GROUP BY project_id, json_extract(data, '$.budget_id'), json_extract(data, '$.resets_at'),
      json_extract(data, '$.cap_usd'), json_extract(data, '$.alert_percent') HAVING count(*) > 1`,
};

function ledgerProblems(world: World): string[] {
  const { db } = first(world);
  return Object.entries(LEDGER_RULES).flatMap(([name, sql]) => {
    const rows = db.prepare(sql).all();
    return rows.length === 0 ? [] : [`${name}: ${JSON.stringify(rows.slice(0, 3))}`];
  });
}

/** The receiver has got each alert once, in the order of the events, but for those that a kill or a restore repeats. */
function eventProblems(world: World): string[] {
  const ids = world.receiver.received.map(({ headers }) => String(headers['webhook-id']));
  const twice = ids.filter((id, i) => ids.indexOf(id) !== i);
  const problems =
    world.killed.size === 0 && twice.length > 0 ? [`events came twice: ${twice.slice(0, 3)}`] : [];
  const { db } = first(world);
  const order = db
    .prepare<[], string>(
      `SELECT id FROM events WHERE type LIKE 'budget.%' AND project_id = 1 ORDER BY sequence`,
    )
    .pluck()
    .all();
  const places = new Map(order.map((id, i) => [id, i]));
  const seen = [...new Set(ids)].flatMap((id) => places.get(id) ?? []);
  const isInOrder = seen.every((place, i) => i === 0 || place > (seen[i - 1] ?? 0));
  return isInOrder ? problems : [...problems, 'events came out of order'];
}

/**
 * Nothing is older than it may be, plus two days in which a clock proves that it isn't ahead: again, where the database of up
 * to three days ago was restored.
 */
function ageProblems(world: World): string[] {
  const oldest = first(world).db.prepare('SELECT min(at) FROM requests').pluck().get() as number | null;
  const ageDays = oldest === null ? 0 : (world.clock.now() - oldest) / DAY;
  const slackDays = world.clock.now() - world.restoredAt < 3 * DAY ? 6 : 3;
  return ageDays > KEPT_DAYS + slackDays
    ? [`a record is ${ageDays.toFixed(1)} days old, of ${KEPT_DAYS}`]
    : [];
}

function sizeProblems({ clock, gateways, provider }: World): string[] {
  const [gateway] = gateways as [TestGateway];
  const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const sizes: [string, number, number][] = [
    ['database', sizeOf(gateway.paths.database), MAX_DATABASE_BYTES],
    ['write-ahead log', sizeOf(`${gateway.paths.database}-wal`), MAX_LOG_BYTES],
    ['heap', process.memoryUsage().heapUsed, MAX_HEAP_BYTES],
    ['timers', clock.timers, MAX_TIMERS],
    ['connections', provider.connections, MAX_CONNECTIONS],
  ];
  return sizes
    .filter(([, size, most]) => size > most)
    .map(([name, size, most]) => `${name}: ${size} of ${most}`);
}
