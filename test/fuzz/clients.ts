import type { LoggedRequest } from '../../src/store/requests/request-log.ts';
import type { Script } from '../support/scripts.ts';
import { converse } from './converse.ts';
import { diceOf } from './dice.ts';
import { planOf } from './plans.ts';
import { makeSending } from './requests.ts';
import { atOnce, generalProblems, isPaid, type Outcome, outcomeOf, type Round } from './round.ts';

const REPORTED = { input: 7, output: 5 };
const AT_ONCE = 48;
const METERED = ['chat/completions', 'messages', 'responses', 'completions', 'complete'];

/** A request that a provider got, by the id that its answer has. */
interface Bill {
  id: string;
  isMetered: boolean;
  /** The answer has gone out whole, with its usage. */
  isAnswered: boolean;
}

/** A provider that reports the same sane usage for everything, whatever it is asked, and keeps its bills. */
function steadyProvider(bills: Bill[]): Script {
  return async (exchange) => {
    const asked = (await exchange.body).toString();
    const [path = ''] = exchange.request.path.split('?');
    const { events, isStream } = planOf(path, /"stream"\s*:\s*true/.test(asked), REPORTED);
    const isMetered = METERED.some((endpoint) => path === `/v1/${endpoint}`);
    const bill = { id: `bill-${bills.length}`, isMetered, isAnswered: false };
    bills.push(bill);
    const id = { 'x-request-id': bill.id };
    if (isStream) {
      await exchange.start(200, { 'content-type': 'text/event-stream', ...id });
      const texts = events.map(
        (event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`,
      );
      await exchange.chunk(texts.join(''));
      await exchange.finish();
    } else await exchange.send(200, { 'content-type': 'application/json', ...id }, JSON.stringify(events[0]));
    bill.isAnswered = true;
  };
}

/** Sends the cases to a gateway on a steady provider, and returns what went wrong. */
export async function fuzzClients(round: Round, seed: number, cases: number[]): Promise<string[]> {
  const { gateway, received } = round;
  const bills: Bill[] = [];
  gateway.upstream.script(steadyProvider(bills));
  await atOnce(cases, AT_ONCE, async (each) => {
    const sending = makeSending(diceOf(seed, each), gateway.key);
    received.set(each, await converse(gateway.daemon.port, sending));
  });
  const problems: string[] = [];
  const outcome = await outcomeOf(round, problems, true);
  for (const [number, answers] of outcome.answers) {
    // The provider never fails, so that every 5xx is gw's own.
    for (const { status, body } of answers)
      if (status >= 500) problems.push(`case ${number}: ${status} ${body.toString().slice(0, 300)}`);
  }
  for (const { outcome: end, flags, inputTokens, outputTokens, status, endpoint } of outcome.records) {
    const isMetered = METERED.includes(endpoint);
    if (end !== 'ok' || status !== 200 || !isMetered || flags.includes('estimated')) continue;
    if (inputTokens !== REPORTED.input || outputTokens !== REPORTED.output)
      problems.push(`${endpoint} was booked at ${inputTokens}/${outputTokens}`);
  }
  return [...problems, ...billProblems(round, bills, outcome), ...generalProblems(round, outcome)];
}

/** Every request that came to the provider has exactly one record, of at least what the provider bills, unless flagged. */
function billProblems({ gateway }: Round, bills: Bill[], { records }: Outcome): string[] {
  const problems: string[] = [];
  const rows = gateway.db
    .prepare<[], { id: number; bill: string | null }>(
      'SELECT id, upstream_request_id AS bill FROM request_log WHERE sent_us IS NOT NULL',
    )
    .all();
  const idsByBill = new Map<string, number[]>();
  for (const { id, bill } of rows) {
    const ids = idsByBill.get(bill ?? '') ?? [];
    idsByBill.set(bill ?? '', [...ids, id]);
  }
  const byId = new Map<number, LoggedRequest>(records.map((record) => [record.id, record]));
  for (const { id, isAnswered } of bills) {
    const [recordId = 0, ...others] = idsByBill.get(id) ?? [];
    const record = byId.get(recordId);
    if (others.length > 0) problems.push(`${id} has ${others.length + 1} records`);
    if (!record || !isAnswered || !METERED.includes(record.endpoint)) continue;
    const isFlagged = record.flags.some((flag) => UNSURE.has(flag));
    if (!isFlagged && !isPaid(record, REPORTED))
      problems.push(
        `${id} was billed, and ${record.costNanoUsd} booked (${record.outcome}, ${record.flags})`,
      );
  }
  // What was broken off before its answer came has no id of the provider's. What costs something has its input booked.
  const withoutId = (idsByBill.get('') ?? []).flatMap((id) => byId.get(id) ?? []);
  for (const metered of [true, false]) {
    const missing = bills.filter(({ id, isMetered }) => isMetered === metered && !idsByBill.has(id));
    const brokenOff = withoutId.filter(({ endpoint, inputTokens }) =>
      metered ? inputTokens > 0 : !METERED.includes(endpoint),
    );
    if (missing.length > brokenOff.length)
      problems.push(
        `${missing.length} requests that reached the provider are not on record, as ${missing[0]?.id}; ${brokenOff.length} were broken off`,
      );
  }
  return problems;
}

/** Flags of records whose cost is known not to be what was billed. */
const UNSURE: ReadonlySet<string> = new Set(['estimated', 'unpriced', 'unmetered']);
