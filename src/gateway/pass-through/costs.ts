/** Whether a call can cost anything: `nothing`, or what its answer reports, or nobody knows. */
export type Costs = 'nothing' | 'unknown';

/** What providers do not bill for: lists and files, checks, counts and cancellations. */
const FREE =
  /^\/(moderations|files|uploads|conversations|messages\/count_tokens|responses\/input_tokens)(\/|$)|\/cancel$/;
/** A path that no server reads as another: `/files/..;/chat` leads some elsewhere. */
const PLAIN_PATH = /^(\/[\w-]+)+\/?$/;

export function costsOf(method = 'GET', path: string): Costs {
  return isReadOnly(method) || method === 'DELETE' || (FREE.test(path) && PLAIN_PATH.test(path))
    ? 'nothing'
    : 'unknown';
}

function isReadOnly(method = 'GET'): boolean {
  return method === 'GET' || method === 'HEAD';
}

const MAX_SEGMENTS = 4;

/** The endpoint as in request records: ids in the path are written as `{id}`, as there is no end of them. */
export function endpointOf(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments
    .slice(0, MAX_SEGMENTS)
    .map((segment, i) => (i % 2 === 0 && /^[a-z_-]{1,32}$/.test(segment) ? segment : wordOr(segment)))
    .join('/');
}

/** Second segments are either ids or one of the few words that name a kind. */
function wordOr(segment: string): string {
  return WORDS.has(segment) ? segment : '{id}';
}

const WORDS = new Set([
  'speech',
  'transcriptions',
  'translations',
  'generations',
  'edits',
  'variations',
  'completions',
  'count_tokens',
  'input_tokens',
  'compact',
  'batches',
  'jobs',
  'runs',
  'sessions',
  'client_secrets',
  'calls',
  'cancel',
  'content',
  'search',
]);
