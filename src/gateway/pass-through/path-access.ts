import { isUtf8 } from 'node:buffer';
import { GwError } from '../../errors.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { askerOf } from '../objects/check-references.ts';
import { referencesIn } from '../objects/references.ts';
import type { References } from '../state/access/stored-objects.ts';

/** What manages an account at OpenAI, Anthropic, OpenRouter, LiteLLM and the like, wherever it stands in a path ... */
const CLOSED = new Set([
  ...['organization', 'organizations', 'org', 'orgs', 'admin', 'admin_api_keys', 'api_keys', 'api-keys'],
  ...[
    'service_accounts',
    'billing',
    'permissions',
    'audit_logs',
    'usage_report',
    'cost_report',
    'workspaces',
  ],
]);
/** ... and at its beginning. */
const CLOSED_FIRST = new Set([
  ...['account', 'accounts', 'activity', 'auth', 'certificates', 'config', 'costs', 'credits', 'customer'],
  ...[
    'dashboard',
    'global',
    'groups',
    'guardrails',
    'invites',
    'key',
    'keys',
    'login',
    'me',
    'members',
    'model',
  ],
  ...[
    'oauth',
    'project',
    'projects',
    'provisioning',
    'roles',
    'spend',
    'subscription',
    'subscriptions',
    'team',
  ],
  ...['teams', 'usage', 'user', 'users'],
]);

/** Throws GwError 403 for the endpoints of a provider that manage its account, unless the owner of gw allows them. */
export function refuseClosed({ settings }: Pick<Gateway, 'settings'>, path: string): void {
  // Some servers don't tell small letters and capitals apart.
  const segments = segmentsOf(path.toLowerCase());
  const isClosed = segments.some((segment) => CLOSED.has(segment)) || CLOSED_FIRST.has(segments[0] ?? '');
  if (!isClosed || settings()['passthrough.organization'] === 'allow') return;
  throw endpointClosed(
    `gw does not pass on /v1${path}, which manages the provider's account. The owner of gw can allow such endpoints: gw config set passthrough.organization allow`,
  );
}

/** The words of providers' paths that stand where an id could. */
// biome-ignore format: they fit a few lines
const WORDS = new Set([
  'alpha', 'approve', 'archive', 'batches', 'calls', 'cancel', 'characters', 'chat', 'checkpoints', 'client_secrets',
  'compact', 'complete', 'completions', 'content', 'count_tokens', 'download', 'edits', 'embeddings', 'events',
  'extensions', 'file_batches', 'files', 'generations', 'graders', 'input_items', 'input_tokens', 'items', 'jobs',
  'messages', 'metrics', 'output_items', 'parts', 'pause', 'rerank', 'remix', 'responses', 'results', 'resume', 'run',
  'runs', 'search', 'sessions', 'speech', 'steps', 'submit_tool_outputs', 'threads', 'transcription_sessions',
  'transcriptions', 'translations', 'validate', 'variations', 'versions', 'voices',
]);
/** What looks among all objects of a kind. */
const SEARCHES = /.\/(search|list|query)\/?$/i;

export interface PathCall {
  method: string;
  path: string;
  /** The query, with its `?`. */
  query: string;
  /** The ids in the body. */
  body: () => Promise<References>;
  provider: string;
}

/**
 * Throws GwError 404 for an object of another project, in path, query or body, and 403 for a list of what all projects
 * have made. Returns whether an admin key asks for what is not its project's own. Does nothing while there is one project.
 */
export async function checkObjects(
  { objects }: Pick<Gateway, 'objects'>,
  context: Pick<RequestContext, 'caller' | 'project' | 'request'>,
  { method, path, query, body, provider }: PathCall,
): Promise<boolean> {
  if (!objects.shared()) return false;
  const asker = askerOf(context, [provider]);
  const [first, ...others] = idsIn(path);
  if (first === undefined && (method !== 'POST' || SEARCHES.test(path))) {
    if (asker.admin) return true;
    throw endpointClosed(
      `${method} /v1${path} is about what all projects have made. Use an admin key, or ask for an object by its id`,
    );
  }
  const isUpload = first === undefined && segmentsOf(path)[0]?.toLowerCase() === 'uploads';
  if (isUpload && !asker.admin && !isOfData(context.request.bytes))
    throw endpointClosed(
      'gw does not pass on an upload in parts whose lines may name objects, because the parts could cut an id in two. Send the file whole to /v1/files, or use an admin key',
    );
  const inQuery = referencesIn(Object.fromEntries(new URLSearchParams(query)));
  const inBody = await body();
  // An object within another belongs to who made that one.
  const named = new Set([...(first === undefined ? [] : [first]), ...inQuery.named, ...inBody.named]);
  const references: References = { named, seen: new Set([...others, ...inQuery.seen, ...inBody.seen]) };
  objects.check(asker, references);
  return asker.admin && !objects.owns(asker, named);
}

/**
 * Purposes of files in which a provider looks for no ids. The lines of batch, fine-tune and evals files are requests, or
 * become parts of some. https://platform.openai.com/docs/api-reference/uploads
 */
const DATA = new Set(['assistants', 'vision', 'user_data']);

/** Whether a new upload has only such a purpose, under each of its members of that name, and however it is read. */
function isOfData(body: Buffer): boolean {
  const text = withPlainLetters(body).toString('utf8');
  const purposes = [...text.matchAll(/"purpose"\s*:\s*"([^"]*)"/g)];
  const isData = purposes.length > 0 && purposes.every(([, name = '']) => DATA.has(name));
  return isData && isUtf8(body) && parseObject(text) !== undefined && !isFormOfPurpose(text);
}

/** JSON can be a form as well, whose fields are in its texts. */
const isFormOfPurpose = (text: string): boolean =>
  [...new URLSearchParams(text).keys()].some((key) => key.startsWith('purpose'));

/** The ids in a path: what is no known word. The first segment names a kind. */
const idsIn = (path: string): string[] =>
  segmentsOf(path)
    .slice(1)
    .filter((segment) => !WORDS.has(segment));

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '');

export function endpointClosed(message: string): GwError {
  return new GwError(message, { status: 403, type: 'permission_error', code: 'endpoint_closed' });
}
