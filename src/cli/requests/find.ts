import type { Db } from '../../store/database/open.ts';
import {
  type LoggedRequest,
  listRequests,
  OUTCOMES,
  type Outcome,
  type RequestFilter,
} from '../../store/requests/request-log.ts';
import { usageError } from '../exit.ts';

/** Outcomes that reports count as failed. */
const FAILURES: readonly Outcome[] = ['upstream_error', 'upstream_failed', 'refused', 'crashed'];

/** A filter that takes several outcomes; that of the store takes one. */
export interface RequestQuery extends Omit<RequestFilter, 'outcome' | 'limit'> {
  outcomes?: readonly Outcome[];
  limit: number;
}

/** Parses `--status`: an HTTP status, an outcome, or `failed` for all outcomes that reports count as failed. */
export function readStatus(text: string | undefined): Pick<RequestQuery, 'status' | 'outcomes'> {
  if (text === undefined) return {};
  if (/^[1-5]\d\d$/.test(text)) return { status: Number(text) };
  if (text === 'failed') return { outcomes: FAILURES };
  if (isOutcome(text)) return { outcomes: [text] };
  const names = ['failed', ...Object.keys(OUTCOMES)].join(', ');
  throw usageError(`--status ${text} is neither an HTTP status nor one of: ${names}`);
}

/** The newest matching requests, newest first. */
export async function findRequests(db: Db, { outcomes, ...filter }: RequestQuery): Promise<LoggedRequest[]> {
  if (outcomes === undefined) return listRequests(db, filter);
  const lists = await Promise.all(outcomes.map((outcome) => listRequests(db, { ...filter, outcome })));
  return lists
    .flat()
    .sort((a, b) => b.id - a.id)
    .slice(0, filter.limit);
}

function isOutcome(text: string): text is Outcome {
  return Object.hasOwn(OUTCOMES, text);
}
