const MAX_SEGMENTS = 4;

/** The endpoint's name in request records, with `{id}` for each id in the path to bound the number of names. */
export function endpointOf(path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments
    .slice(0, MAX_SEGMENTS)
    .map((segment, i) => (i % 2 === 0 && /^[a-z_-]{1,32}$/.test(segment) ? segment : actionOrId(segment)))
    .join('/');
}

/** Every second segment is an id or one of a few known words. */
function actionOrId(segment: string): string {
  return ACTIONS.has(segment) ? segment : '{id}';
}

const ACTIONS = new Set([
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
