import { EPOCH_MS, type RequestId, timeOfRequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { type ColumnName, columnName, type Row as TableRow } from '../database/columns.ts';
import type { Names } from '../database/names.ts';
import type { Charge } from './account.ts';
import {
  FLAGS,
  INPUT_BOUNDS,
  MISS_CAUSES,
  OUTCOMES,
  type RecordedNeed,
  type RequestClient,
  type RequestRecord,
  SOURCES,
} from './record.ts';

/** The part of a request record that is known before the request is sent. */
export interface RequestHead
  extends RequestClient,
    Pick<
      RequestRecord,
      'id' | 'projectId' | 'keyId' | 'endpoint' | 'provider' | 'model' | 'askedModel' | 'origin'
    > {
  stream: boolean;
  /** A subscription covers it: no budget counts it. */
  notBilled?: boolean;
}

/** Amount that a running request holds, and the balances that it is reserved in. */
export interface Hold {
  amount: NanoUsd;
  charges: Charge[];
}

/** States of a row. The numbers are stored. */
export const HELD = 0;
export const SETTLED = 1;
/** Settled, and not archived while the search for its caller is running or, with `folded_ms`, refusals are counted in it. */
export const OPEN = 2;

/** Input of the columns that are written with the hold. */
export interface Opening {
  slot: number;
  head: RequestHead;
  hold: Hold | undefined;
  need: RecordedNeed | undefined;
  names: Names;
  /** Ids of names, of the session and of the labels. */
  agentId: number;
  agentVersionId: number;
  repoId: number;
  sessionId: number;
  labelsId: number;
  /** The time of the running batch. */
  now: number;
  /** When the request came in. */
  arrivedAt: number;
  order: () => number;
}

/** Input of the columns that are written when the request ends. */
export interface Ending {
  record: RequestRecord;
  names: Names;
  now: number;
  order: () => number;
}

interface Column<Value> {
  /** The value with the hold; without one, the row begins with the schema's default. */
  opened?: (opening: Opening) => Value;
  /** Written again with the hold of the next attempt: always, or if its need is known. */
  reopened?: 'hold' | 'need';
  /** The value when the request ends. */
  settled?: (ending: Ending) => Value;
  /** SQL for what is stored then; `?` is the value. */
  set?: string;
  /** Default: in `journal` and in `requests`. */
  only?: 'journal' | 'details';
  /** Records and answers show it under its own name. */
  shown?: Shown;
}

type Shown = 'count' | 'ms' | 'msOrNull';
type Row = TableRow<'journal'>;

/**
 * The columns of a request, a row each, in the order in which they are written. A column that the schema has and this
 * table lacks does not compile.
 */
const REQUEST_COLUMNS = {
  id: { opened: ({ head }) => head.id },
  aheadMs: { opened: ({ head, arrivedAt }) => timeOfRequestId(head.id) - arrivedAt },
  state: {
    opened: () => HELD,
    settled: ({ record }) => (record.origin?.search ? OPEN : SETTLED),
    only: 'journal',
  },
  slot: { opened: ({ slot }) => slot, reopened: 'hold', only: 'journal' },
  projectId: { opened: ({ head }) => head.projectId },
  keyId: { opened: ({ head }) => head.keyId },
  endpointId: { opened: ({ head, names }) => names.idOf(head.endpoint) },
  providerId: {
    opened: ({ head, names }) => names.idOf(head.provider),
    reopened: 'hold',
    settled: ({ record, names }) => names.idOf(record.provider),
  },
  modelId: {
    opened: ({ head, names }) => names.idOf(head.model),
    reopened: 'hold',
    settled: ({ record, names }) => names.idOf(record.model),
  },
  askedModelId: { opened: ({ head, names }) => names.idOf(head.askedModel) },
  status: { settled: ({ record }) => record.status },
  outcome: { settled: ({ record }) => OUTCOMES[record.outcome] },
  flags: {
    opened: ({ head }) => (head.stream ? FLAGS.stream : 0) | (head.notBilled ? FLAGS.not_billed : 0),
    settled: ({ record }) => record.flags,
  },
  source: { settled: ({ record }) => SOURCES[record.source ?? 'gw'] },
  inputTokens: { settled: ({ record }) => record.usage.inputTokens, shown: 'count' },
  cachedInputTokens: { settled: ({ record }) => record.usage.cachedInputTokens, shown: 'count' },
  cacheWriteTokens: {
    settled: ({ record: { usage } }) => usage.cacheWriteTokens + usage.cacheWrite1hTokens,
    shown: 'count',
  },
  outputTokens: { settled: ({ record }) => record.usage.outputTokens, shown: 'count' },
  reasoningTokens: { settled: ({ record }) => record.usage.reasoningTokens, shown: 'count' },
  savedTokens: { settled: ({ record }) => record.savedTokens, shown: 'count' },
  requestBytes: { settled: ({ record }) => record.requestBytes ?? 0, shown: 'count' },
  missedTokens: { settled: ({ record: { missed } }) => (missed ? missed.tokens : 0) },
  missCause: { settled: ({ record: { missed } }) => (missed ? MISS_CAUSES[missed.cause] : 0) },
  missedNanoUsd: { settled: ({ record: { missed } }) => (missed ? missed.nanoUsd : 0) },
  costNanoUsd: { settled: ({ record }) => record.costNanoUsd },
  savedNanoUsd: { settled: ({ record }) => record.savedNanoUsd },
  holdNanoUsd: { opened: ({ hold }) => (hold ? hold.amount : 0), reopened: 'hold' },
  charges: {
    opened: ({ hold }) => (hold ? chargesText(hold.charges) : '[]'),
    reopened: 'hold',
    only: 'journal',
  },
  needInputTokens: { opened: ({ need }) => (need ? whole(need.inputTokens) : 0), reopened: 'need' },
  needInputBound: { opened: ({ need }) => (need ? INPUT_BOUNDS[need.inputBound] : 0), reopened: 'need' },
  needOutputTokens: { opened: ({ need }) => (need ? whole(need.outputTokens) : 0), reopened: 'need' },
  outputAskedTokens: {
    opened: ({ need }) => (need ? wholeOrNull(need.outputAskedTokens) : null),
    reopened: 'need',
  },
  needInputNanoUsd: { opened: ({ need }) => (need ? need.inputNanoUsd : 0), reopened: 'need' },
  needOutputNanoUsd: { opened: ({ need }) => (need ? need.outputNanoUsd : 0), reopened: 'need' },
  needFeesNanoUsd: { opened: ({ need }) => (need ? need.feesNanoUsd : 0), reopened: 'need' },
  limitAskedTokens: { settled: ({ record: { lowered } }) => (lowered ? wholeOrNull(lowered.asked) : null) },
  outputSentTokens: { settled: ({ record: { lowered } }) => (lowered ? whole(lowered.sent) : null) },
  bodyUs: { settled: ({ record }) => micros(record.timings?.body) },
  compressedUs: { settled: ({ record }) => micros(record.timings?.compressed) },
  heldUs: {
    opened: ({ head, hold, now }) => (hold ? Math.max(0, now - timeOfRequestId(head.id)) * 1_000 : null),
    settled: ({ record }) => micros(record.timings?.held),
    set: 'coalesce(?, held_us)',
  },
  sentUs: { settled: ({ record }) => micros(record.timings?.sent) },
  durationMs: { settled: ({ record }) => Math.round(record.durationMs), shown: 'ms' },
  firstByteMs: {
    settled: ({ record }) => (record.firstByteMs === null ? null : Math.round(record.firstByteMs)),
    shown: 'msOrNull',
  },
  settledMs: { settled: ({ now }) => Math.trunc(now), set: 'max(0, ? - at)' },
  admittedUs: { opened: ({ hold, order, arrivedAt }) => (hold ? order() - arrivedAt * 1_000 : null) },
  settledUs: { settled: ({ order }) => order(), set: '? - at * 1000' },
  processId: {
    opened: ({ head, names }) => (head.origin ? names.idOf(head.origin.process) : 0),
    reopened: 'hold',
    settled: ({ record: { origin }, names }) => (origin ? names.idOf(origin.process) : 0),
  },
  repoId: {
    opened: ({ repoId }) => repoId,
    reopened: 'hold',
    settled: ({ record: { origin }, names }) => (origin ? names.idOf(origin.repo) : 0),
  },
  agentId: { opened: ({ agentId }) => agentId },
  agentVersionId: { opened: ({ agentVersionId }) => agentVersionId },
  sessionId: { opened: ({ sessionId }) => sessionId },
  labelsId: { opened: ({ labelsId }) => labelsId },
  folded: {},
  foldedMs: {},
  upstreamMessageId: { settled: ({ record }) => record.upstreamMessageId ?? null, only: 'details' },
  upstreamRequestId: { settled: ({ record }) => record.upstreamRequestId ?? null, only: 'details' },
  detail: { settled: ({ record: { detail } }) => (detail ? JSON.stringify(detail) : null), only: 'details' },
} satisfies { [Name in keyof Row]: Column<Row[Name]> };

/** The columns by their names in SQL, those that `chooses` accepts. */
export function requestColumns(chooses: (column: Column<unknown>) => boolean): ColumnName<keyof Row>[] {
  return columnsWhere(chooses).map(([name]) => columnName(name));
}

/** The columns that are shown as numbers of a kind. */
export type ShownAs<Kind extends Shown> = {
  [Name in keyof typeof REQUEST_COLUMNS]: (typeof REQUEST_COLUMNS)[Name] extends { shown: Kind }
    ? Name
    : never;
}[keyof Row];

export function shownAs<Kind extends Shown>(...kinds: Kind[]): ShownAs<Kind>[] {
  const chosen = columnsWhere(({ shown }) => shown !== undefined && (kinds as Shown[]).includes(shown));
  return chosen.map(([name]) => name as ShownAs<Kind>);
}

const columnsWhere = (chooses: (column: Column<unknown>) => boolean) =>
  (Object.entries(REQUEST_COLUMNS) as [keyof Row, Column<unknown>][]).filter(([, column]) => chooses(column));

/** Columns that are written together, in order. */
export interface WrittenColumns<Input> {
  /** By their names in SQL. */
  names: string[];
  /** With SQL for what is stored. */
  assignments: string[];
  values: ((input: Input) => unknown)[];
}

export const OPENED = written('opened', () => true);
export const REOPENED = written('opened', ({ reopened }) => reopened === 'hold');
export const REOPENED_NEED = written('opened', ({ reopened }) => reopened === 'need');
export const ENDED = written('settled', () => true);

function written<Time extends 'opened' | 'settled'>(
  time: Time,
  chooses: (column: Column<unknown>) => boolean,
): WrittenColumns<Parameters<NonNullable<Column<unknown>[Time]>>[0]> {
  const chosen = columnsWhere((column) => column[time] !== undefined && chooses(column));
  const names = chosen.map(([name]) => columnName(name));
  return {
    names,
    assignments: chosen.map(([, { set }], i) => `${names[i]} = ${(time === 'settled' && set) || '?'}`),
    values: chosen.map(([, column]) => column[time] as (input: unknown) => unknown),
  };
}

/**
 * A function that runs a statement with these values of its input. It is compiled to one call that lists them, as if
 * written by hand: filling an array in a loop took a quarter more CPU time, statement included.
 */
export function writer<Input>(
  statement: { run(...values: unknown[]): unknown },
  values: ((input: Input) => unknown)[],
): (input: Input) => void {
  const names = values.map((_, i) => `value${i}`);
  const call = `statement.run(${names.map((name) => `${name}(input)`).join(', ')})`;
  return new Function('statement', ...names, `return (input) => { ${call}; };`)(statement, ...values);
}

/** When a request came in; not after the running batch, as an id may be, unless the clock is not set. */
export function arrivalOf(id: RequestId, now: number): number {
  const time = timeOfRequestId(id);
  return now < EPOCH_MS ? time : Math.min(time, Math.trunc(now));
}

/** As JSON. */
const chargesText = (charges: Charge[]): string =>
  `[${charges.map((charge) => `[${charge.join()}]`).join()}]`;

const micros = (ms: number | undefined): number | null => (ms === undefined ? null : Math.round(ms * 1_000));

/** A number of tokens, as a client or a provider may give it, within what a column of integers takes. */
const whole = (tokens: number): number => Math.min(Math.round(tokens), Number.MAX_SAFE_INTEGER);
const wholeOrNull = (tokens: number | null): number | null => (tokens === null ? null : whole(tokens));
