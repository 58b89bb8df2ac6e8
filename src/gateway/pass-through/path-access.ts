import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { GwError } from '../../errors.ts';
import { withPlainLetters } from '../../json/plain-letters.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { MAX_FIELDS, tooManyFields } from '../../wire/request/form.ts';
import type { Gateway } from '../context/gateway.ts';
import type { RequestContext } from '../context/request-context.ts';
import { askerOf, MAY_NAME, referencesIn, referencesInText } from '../objects/references.ts';
import type { References } from '../state/access/stored-objects.ts';

/** Path segments that manage an account at OpenAI, Anthropic, OpenRouter, LiteLLM and the like, wherever it stands in a path ... */
// biome-ignore format: they fit a few lines
const CLOSED = new Set([
  'organization', 'organizations', 'org', 'orgs', 'admin', 'admin_api_keys', 'api_keys', 'api-keys',
  'service_accounts', 'billing', 'permissions', 'audit_logs', 'usage_report', 'cost_report', 'workspaces',
]);
/** ... and at its beginning. */
// biome-ignore format: they fit a few lines
const CLOSED_FIRST = new Set([
  'account', 'accounts', 'activity', 'auth', 'certificates', 'config', 'costs', 'credits', 'customer', 'dashboard',
  'global', 'groups', 'guardrails', 'invites', 'key', 'keys', 'login', 'me', 'members', 'model', 'oauth', 'project',
  'projects', 'provisioning', 'roles', 'spend', 'subscription', 'subscriptions', 'team', 'teams', 'usage', 'user',
  'users',
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
/** Paths that search all objects of a kind. */
const SEARCHES = /.\/(search|list|query)\/?$/i;

interface PathCall {
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

/**
 * The ids in a body: in JSON, in the fields of forms, and in files with requests for a batch. Lets others have their turn
 * after every `SLICE` characters of such a file.
 */
export async function bodyReferences(bytes: Buffer, headers: IncomingHttpHeaders): Promise<References> {
  if (bytes.length === 0) return NONE;
  const type = headers['content-type'] ?? '';
  const boundary = /^multipart\/form-data.*?boundary="?([^";]+)/is.exec(type)?.[1];
  const text = withoutZeros(bytes.toString('utf8'));
  if (boundary !== undefined) return referencesInForm(text, boundary);
  if (/^application\/x-www-form-urlencoded/i.test(type))
    return referencesIn(Object.fromEntries(new URLSearchParams(text)));
  return referencesInText(text);
}

const NONE: References = { named: new Set(), seen: new Set() };

/** The ids in the fields of a form, and in the lines of files that hold requests. */
async function referencesInForm(text: string, boundary: string): Promise<References> {
  // With the text before the first field and behind the last.
  const parts = text.split(`--${boundary}`, MAX_FIELDS + 3);
  if (parts.length > MAX_FIELDS + 2) throw tooManyFields();
  const found: Found = { named: new Set(), seen: new Set() };
  for (const part of parts) {
    const headEnd = part.indexOf('\r\n\r\n');
    if (headEnd < 0) continue;
    const head = part.slice(0, headEnd);
    const content = part.slice(headEnd + 4).replace(/\r\n$/, '');
    if (/\bfilename\*?=/i.test(head)) {
      await addLines(found, content);
      continue;
    }
    const name = /\bname="?([^";\r\n]*)/i.exec(head)?.[1]?.replace(/\[\]$/, '') ?? '';
    add(found, referencesIn({ [name]: content }));
    add(found, referencesInText(content));
  }
  return found;
}

type Found = Record<keyof References, Set<string>>;

function add(to: Found, { named, seen }: References): void {
  for (const id of named) to.named.add(id);
  for (const id of seen) to.seen.add(id);
}

/** Python's parser takes UTF-16 and UTF-32 for JSON too, whose zero bytes are left out here. No other text has any. */
function withoutZeros(text: string): string {
  return text.slice(0, 64).includes('\0') ? text.replaceAll('\0', '') : text;
}

/**
 * The ids in the lines of JSONL (https://platform.openai.com/docs/guides/batch), whatever stands before its first object.
 * A binary file has no such lines.
 */
async function addLines(found: Found, text: string): Promise<void> {
  const lines = withoutZeros(text);
  let since = 0;
  for (let start = 0; start < lines.length; ) {
    const newline = lines.indexOf('\n', start);
    const end = newline < 0 ? lines.length : newline;
    const line = lines.slice(start, end);
    if (line.includes('{') && MAY_NAME.test(line)) add(found, referencesInText(line));
    start = end + 1;
    if (start - since < SLICE) continue;
    since = start;
    await setImmediate();
  }
}

/** Characters of lines whose ids are found in about 10 ms. */
const SLICE = 65_536;
