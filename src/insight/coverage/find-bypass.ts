import type { Agent } from '../../agents/agent.ts';
import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { type LogReading, type ReadOptions, readLogs } from '../../agents/logs/read-logs.ts';
import { grouped } from '../../json/grouped.ts';
import type { Reader } from '../../operations/registry.ts';
import type { CallView } from '../../operations/schemas/calls.ts';
import { timeText } from '../../operations/times.ts';

/** Comparison of an agent's logs with the ledger. */
export interface AgentCoverage {
  agent: Agent['name'];
  reading: LogReading;
  /** Calls in the logs that the ledger lacks. */
  bypassed: ReadonlySet<LoggedCall>;
}

export interface CoverageOptions extends ReadOptions {
  /** UTC milliseconds. */
  now: number;
  /** Selects the calls to look for; default: all. */
  concerns?: (call: LoggedCall) => boolean;
}

/** Maximum time from a request to the end of its answer. */
const MAX_CALL_MS = 3 * 3_600_000;
/**
 * Records of unknown programs may be many, so they are read in pieces of this length, each with MAX_CALL_MS before it.
 */
const PIECE_MS = 3_600_000;
const MAX_ANONYMOUS = 50_000;

/** Compares an agent's logs with the ledger. Undefined if gw can't read the agent's logs. */
export async function findBypass(
  { name, log }: Pick<Agent, 'name' | 'log'>,
  reader: Pick<Reader, 'calls'>,
  { concerns = () => true, now, ...options }: CoverageOptions,
): Promise<AgentCoverage | undefined> {
  if (!log) return undefined;
  const reading = await readLogs(log, options);
  const calls = reading.calls.filter(concerns);
  const missing = await missingCalls(name, reader, calls, now);
  return { agent: name, reading: { ...reading, calls }, bypassed: new Set(missing) };
}

/** The calls of an agent's logs, sorted by time, that the ledger lacks. */
export async function missingCalls(
  agent: Agent['name'],
  reader: Pick<Reader, 'calls'>,
  calls: readonly LoggedCall[],
  now: number,
): Promise<LoggedCall[]> {
  const [first] = calls;
  if (!first) return [];
  const span = { agent, since: Math.max(0, first.at - MAX_CALL_MS), until: now + MAX_CALL_MS };
  const own = createMatcher(await readCalls(reader, span)).missing(calls);
  // Records of older gw versions name no agent.
  return own.length === 0 ? [] : createMatcher(await readAnonymous(reader, own)).missing(own);
}

/** Requests of unknown programs around the times of these calls, which are sorted by time. */
async function readAnonymous(
  reader: Pick<Reader, 'calls'>,
  calls: readonly LoggedCall[],
): Promise<CallView[]> {
  const found: CallView[] = [];
  let until = 0;
  for (const { at } of calls) {
    if (at + TOLERANCE_MS < until) continue;
    if (found.length > MAX_ANONYMOUS) break;
    const since = Math.max(until, at - MAX_CALL_MS);
    until = at + PIECE_MS;
    found.push(...(await readCalls(reader, { agent: '', since, until })));
  }
  return found;
}

const PAGE = 1_000;

async function readCalls(
  reader: Pick<Reader, 'calls'>,
  span: { agent: string; since: number; until: number },
): Promise<CallView[]> {
  const all: CallView[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await reader.calls({
      agent: span.agent,
      since: timeText(span.since),
      until: timeText(span.until),
      limit: PAGE,
      cursor: last?.id,
    });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}

/** Maximum difference between the clocks of the agent's machine and gw's. */
const TOLERANCE_MS = 5 * 60_000;
/** Tolerance for a request of another session or none: a copied session has a new id. */
const OTHER_SESSION_MS = 60_000;

/**
 * Matches calls in an agent's log with ledger records: by the provider's id of the answer, then of the request, then by
 * session, usage and time, because translated answers have other ids, and older agents log none. A request matches at
 * most one call.
 */
export function createMatcher(recorded: readonly CallView[]) {
  const unused = new Set(recorded);
  const byMessage = grouped(recorded, ({ upstream_message_id: id }) => id);
  const byRequest = grouped(recorded, ({ upstream_request_id: id }) => id);
  const byUsage = grouped(recorded, usageKey);
  const running = grouped(recorded, ({ session_id: id, ended_at }) => (ended_at === null ? id : null));

  const use = (requests: readonly CallView[] = []) => {
    // Some relays give all answers the same id.
    const request = requests.length === 1 ? requests[0] : requests.find((each) => unused.has(each));
    if (request) unused.delete(request);
    return request !== undefined;
  };

  function matchesUsage(call: LoggedCall): boolean {
    const candidates = byUsage.get(usageKey(asCounted(call))) ?? [];
    const request = candidates.find((each) => unused.has(each) && isSameCall(call, each));
    return request !== undefined && unused.delete(request);
  }

  /** An agent may log an answer just before gw writes its record. */
  function isRunning({ sessionId, at }: LoggedCall): boolean {
    const request = running
      .get(sessionId)
      ?.find((each) => unused.has(each) && at >= Date.parse(each.created_at) - TOLERANCE_MS);
    return request !== undefined && unused.delete(request);
  }

  return {
    /** Returns the calls that the ledger lacks. Pass each call once. */
    missing(calls: readonly LoggedCall[]): LoggedCall[] {
      const withoutId = calls.filter(
        (call) => !use(byMessage.get(call.messageId)) && !use(byRequest.get(call.requestId)),
      );
      return withoutId.filter((call) => !matchesUsage(call)).filter((call) => !isRunning(call));
    },
  };
}

function isSameCall({ sessionId, at }: LoggedCall, { session_id, created_at, ended_at }: CallView): boolean {
  const tolerance = session_id === sessionId ? TOLERANCE_MS : OTHER_SESSION_MS;
  const start = Date.parse(created_at);
  const end = ended_at === null ? start : Date.parse(ended_at);
  return at >= start - tolerance && at <= end + tolerance;
}

function usageKey({ input_tokens, output_tokens }: Pick<CallView, 'input_tokens' | 'output_tokens'>): string {
  return `${input_tokens} ${output_tokens}`;
}

const asCounted = ({ usage }: LoggedCall) => ({
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
});
