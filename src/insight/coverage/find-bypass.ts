import type { Agent } from '../../agents/agent.ts';
import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import { type LogReading, type ReadOptions, readLogs } from '../../agents/logs/read-logs.ts';
import { parseRequestId } from '../../ids.ts';
import type { CallView } from '../../reading/call-schema.ts';
import type { Reader } from '../../reading/reader.ts';
import { createMatcher, TOLERANCE_MS } from './match-calls.ts';

/** What an agent's logs and the ledger say of the same time. */
export interface AgentCoverage {
  agent: Agent['name'];
  reading: LogReading;
  /** The calls in the logs that the ledger lacks. */
  bypassed: ReadonlySet<LoggedCall>;
}

export interface CoverageOptions extends ReadOptions {
  /** UTC milliseconds. */
  now: number;
  /** The calls to look for; all by default. */
  concerns?: (call: LoggedCall) => boolean;
}

/** How much earlier than its answer a request may have come in. */
const MAX_CALL_MS = 3 * 3_600_000;
/** Records of unknown programs are read in pieces of this length and the time before: they may be many. */
const PIECE_MS = 3_600_000;
const MAX_ANONYMOUS = 50_000;

/** Compares an agent's logs with the ledger. Undefined for an agent whose logs gw can't read. */
export async function findBypass(
  { name, log }: Pick<Agent, 'name' | 'log'>,
  reader: Pick<Reader, 'calls'>,
  { concerns = () => true, now, ...options }: CoverageOptions,
): Promise<AgentCoverage | undefined> {
  if (!log) return undefined;
  const reading = await readLogs(log, options);
  const calls = reading.calls.filter(concerns);
  const first = calls[0]?.at ?? now;
  const span = { agent: name, since: Math.max(0, first - MAX_CALL_MS), until: now + MAX_CALL_MS };
  const own = calls.length === 0 ? [] : createMatcher(await readCalls(reader, span)).missing(calls);
  // Records of older versions name no agent.
  const missing = own.length === 0 ? [] : createMatcher(await readAnonymous(reader, own)).missing(own);
  return { agent: name, reading: { ...reading, calls }, bypassed: new Set(missing) };
}

/** The requests of unknown programs around these calls, which are in the order of their times. */
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
    const page = await reader.calls({ ...span, limit: PAGE, after: last && parseRequestId(last.id) });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
