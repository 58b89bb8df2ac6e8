import { setImmediate } from 'node:timers/promises';
import { type RequestId, requestIdAt } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { NO_USAGE, type TokenUsage } from '../../usage.ts';
import type { Db } from '../database/open.ts';
import { idsBefore } from '../database/sql-parts.ts';
import { type CountedRequests, countedConditions, memberSql } from '../ledger/counted-requests.ts';
import { FLAGS, IS_BILLED, OUTCOMES, SOURCES } from '../ledger/record.ts';
import { type CountedRequest, type EachKind, matchesModel, memberValue } from '../ledger/terms.ts';

export type Served = Pick<CountedRequest, 'provider' | 'model'>;

/** An ended request, as a budget would have seen it. */
export interface PastRequest {
  id: RequestId;
  keyId: number;
  agentId: number;
  sessionId: number;
  /** When it came in. UTC microseconds, as all times here. */
  startedUs: number;
  /** When it was held, or refused: in microseconds, in the order of the ledger's writes. */
  askedUs: number;
  settledUs: number;
  /** Its worst case, as it was sent. */
  needNanoUsd: NanoUsd;
  /** Whether `needNanoUsd` is what the record says; else it is what was held or spent. */
  isNeedKnown: boolean;
  costNanoUsd: NanoUsd;
  /** A budget refused it: what it would have cost isn't known. */
  wasBlocked: boolean;
  /** The refusals that the record stands for; 1 for any other. */
  count: number;
  /** A budget sent it to a cheaper model. */
  isFallen: boolean;
  /** The member of a cap for each that counts it; '': none, or the cap is no such one. */
  member: string;
  /** Its tokens, for a replay that may send it to another model. */
  work: PastWork | undefined;
}

/** What a request would need and cost at another model is worked out from this. */
interface PastWork {
  served: Served;
  /** Where it would have gone had no budget sent it to a cheaper model. */
  asked: Served;
  usage: TokenUsage;
  needInputTokens: number;
  needOutputTokens: number;
  needFeesNanoUsd: NanoUsd;
}

/** The requests to replay. */
interface PastRequestsQuery extends CountedRequests {
  /** UTC milliseconds. */
  until: number;
  /** For a cap for each of these. */
  each?: EachKind | undefined;
  /** With `work`: requests count by what they would have been served by without a cheaper model. */
  withWork?: boolean;
}

/** As an array: named columns of a million rows take seconds. */
type Row = [
  id: RequestId,
  startedAt: number,
  keyId: number,
  agentId: number,
  sessionId: number,
  outcome: number,
  need: NanoUsd,
  bound: number,
  hold: NanoUsd,
  cost: NanoUsd,
  admittedUs: number,
  settledUs: number,
  folded: number,
  isFallen: number,
  member: string,
  ...work: WorkRow | [],
];

type WorkRow = [
  provider: string,
  model: string,
  asked: string | null,
  input: number,
  cached: number,
  written: number,
  output: number,
  needInput: number,
  needOutput: number,
  needFees: NanoUsd,
];

const PAGE = 2_000;
/** Records of gw 0.1 don't say in which order the ledger wrote them: whole milliseconds are near. */
const COLUMNS = `id, at, key_id, agent_id, session_id, outcome,
  need_input_nano_usd + need_output_nano_usd + need_fees_nano_usd, need_input_bound, hold_nano_usd, cost_nano_usd,
  coalesce(admitted_us, (held_us + 500) / 1000 * 1000, 0), coalesce(settled_us, 1000 * coalesce(settled_ms, duration_ms)), folded, (flags & ${FLAGS.fallback}) <> 0`;
const workColumns = (detail: string) =>
  `, (SELECT name FROM names WHERE id = provider_id), (SELECT name FROM names WHERE id = model_id),
  iif(flags & ${FLAGS.fallback}, ${detail} ->> '$.fallback_from', NULL), input_tokens, cached_input_tokens,
  cache_write_tokens, output_tokens, need_input_tokens, need_output_tokens, need_fees_nano_usd`;

/**
 * A project's requests, those that a budget counts, that came in from `since` on and before `until`, in that order, a page at a time: in between,
 * the daemon serves requests. Imported requests and those that a subscription covers count in no budget.
 */
export async function* pastRequests(db: Db, query: PastRequestsQuery): AsyncGenerator<PastRequest[]> {
  const { until, each, withWork = false, ...counted } = query;
  const { since } = counted;
  const inSql = withWork ? { ...counted, provider: undefined, model: undefined } : counted;
  const { where: isCounted, parameters } = countedConditions(db, inSql);
  const columnsWith = (detail: string) =>
    `${COLUMNS}, ${each ? memberSql(each) : "''"}${withWork ? workColumns(detail) : ''}`;
  const where = `${isCounted} AND id > @after AND id < ${idsBefore(until)} AND at >= @since AND at < @until AND source = ${SOURCES.gw} AND ${IS_BILLED}
    AND (outcome = ${OUTCOMES.blocked} OR held_us IS NOT NULL OR hold_nano_usd > 0 OR cost_nano_usd > 0)`;
  const INDEX = counted.projectIds?.length === 1 ? 'INDEXED BY requests_of_project' : 'NOT INDEXED';
  // SQLite would sort each page in a table of its own.
  const select = db
    .prepare<[Record<string, number | string>], Row>(`
      SELECT * FROM (SELECT ${columnsWith('(SELECT detail FROM request_details d WHERE d.id = requests.id)')} FROM requests ${INDEX} WHERE ${where} ORDER BY id LIMIT ${PAGE})
      UNION ALL SELECT * FROM (SELECT ${columnsWith('detail')} FROM journal WHERE state <> 0 AND ${where} ORDER BY id LIMIT ${PAGE})`)
    .raw();
  for (let after = requestIdAt(since) - 1; ; ) {
    const rows = select.all({ ...parameters, after, since: Math.ceil(since), until: Math.ceil(until) });
    const page = rows
      .map((row) => pastRequest(row, each))
      .sort((a, b) => a.id - b.id)
      .slice(0, PAGE);
    yield withWork ? page.filter((request) => isCountedAs(request, counted)) : page;
    const last = page.at(-1);
    if (page.length < PAGE || !last) return;
    after = last.id;
    await setImmediate();
  }
}

/** Whether a budget of a model or provider counts a request, by what it would have been served by. */
function isCountedAs({ work }: PastRequest, { model, provider = '' }: CountedRequests): boolean {
  if (!work) return true;
  return (
    (provider === '' || provider === work.asked.provider) &&
    (model === undefined || matchesModel(model, work.asked))
  );
}

function pastRequest(row: Row, each: EachKind | undefined): PastRequest {
  const [
    id,
    startedAt,
    keyId,
    agentId,
    sessionId,
    outcome,
    need,
    bound,
    hold,
    costNanoUsd,
    admittedUs,
    endedUs,
    folded,
    isFallen,
    member,
    ...workRow
  ] = row;
  const startedUs = startedAt * 1_000;
  const settledUs = startedUs + endedUs;
  const wasBlocked = outcome === OUTCOMES.blocked;
  const isNeedKnown = bound !== 0;
  const work = pastWork(workRow);
  return {
    id,
    keyId,
    agentId,
    sessionId,
    startedUs,
    askedUs: wasBlocked ? settledUs : startedUs + admittedUs,
    settledUs,
    needNanoUsd: isNeedKnown ? need : Math.max(hold, costNanoUsd),
    isNeedKnown,
    costNanoUsd,
    wasBlocked,
    count: 1 + folded,
    isFallen: isFallen !== 0,
    member: memberOf(member, each, work),
    work,
  };
}

/** A request without a key has no cap of its own. */
function memberOf(member: string, each: EachKind | undefined, work: PastWork | undefined): string {
  if (each === 'key' && member === '0') return '';
  return work && isByTarget(each) ? memberAt(each, work.asked) : member;
}

/** Whether a cap is for each model or provider. */
export const isByTarget = (each: EachKind | undefined): each is 'model' | 'provider' =>
  each === 'model' || each === 'provider';

export const memberAt = (each: 'model' | 'provider', target: Served): string =>
  memberValue(each, { keyId: 0, repo: '', ...target });

function pastWork(row: WorkRow | []): PastWork | undefined {
  if (row.length === 0) return undefined;
  const [provider, model, asked, input, cached, written, output, needInput, needOutput, needFees] = row;
  const served = { provider, model };
  const usage = { ...NO_USAGE, inputTokens: input, cachedInputTokens: cached };
  return {
    served,
    asked: asked == null ? served : servedBy(asked),
    usage: { ...usage, cacheWriteTokens: written, outputTokens: output },
    needInputTokens: needInput,
    needOutputTokens: needOutput,
    needFeesNanoUsd: needFees,
  };
}

/** The target of `provider/model`. The names of sandbox models start with `sandbox/`. */
function servedBy(name: string): Served {
  const slash = name.indexOf('/');
  const provider = name.slice(0, slash);
  return { provider, model: provider === 'sandbox' ? name : name.slice(slash + 1) };
}
