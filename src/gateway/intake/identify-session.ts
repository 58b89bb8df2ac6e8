import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Range } from '../../json/bytes.ts';
import { isObject } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import { withoutOwnKeys } from '../../redact.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { ClientSession } from '../context/request-context.ts';

/** Headers in which clients send the id of a session, with the agent where only one has the header. */
const SESSION_HEADERS: readonly (readonly [name: string, agent: string])[] = [
  ['x-claude-code-session-id', 'claude'],
  ['x-session-id', ''],
  ['session-id', ''],
  ['session_id', ''],
  ['agent-session-id', 'goose'],
  ['x-session-affinity', ''],
  ['x-openwebui-chat-id', 'open-webui'],
];

/** Agents by the product in their user agent. */
const PRODUCTS: Readonly<Record<string, string>> = {
  'claude-cli': 'claude',
  opencode: 'opencode',
  'kilo-code': 'kilo',
  cline: 'cline',
  continue: 'continue',
  qwencode: 'qwen',
  copilot: 'copilot',
  aider: 'aider',
  goose: 'goose',
  'charm-crush': 'crush',
  pi: 'pi',
  openhands: 'openhands',
  zed: 'zed',
};

/** Agents by `x-title`. Kilo has the user agent of opencode, from which it descends. */
const TITLES: Readonly<Record<string, string>> = { 'Kilo Code': 'kilo', Cline: 'cline' };

/** Agents that put the id of the session into `prompt_cache_key`; other clients may use one key for all sessions. */
const CACHE_KEY_AGENTS: ReadonlySet<string> = new Set(['codex', 'copilot', 'pi', 'opencode', 'kilo']);

/** The session of a request, from its headers and, where these name none, from two fields of the body. */
export function identifySession(
  headers: IncomingHttpHeaders,
  request: Pick<WireRequest, 'bytes' | 'members'>,
): ClientSession {
  let { agent, agentVersion } = agentOf(headers);
  for (const [name, onlyAgent] of SESSION_HEADERS) {
    const value = headers[name];
    if (value === undefined) continue;
    if (agent === '') agent = onlyAgent;
    const sessionId = idOf(value);
    if (sessionId !== '') return { sessionId, agent, agentVersion };
  }
  return { sessionId: sessionInBody(request, agent), agent, agentVersion };
}

/** `product/version` at the start of a user agent; some have the name of a channel before the version. */
const USER_AGENT = /^([a-z][a-z _-]{0,31})\/(?:[a-z]{1,16}\/)?v?(\d[\w.+-]{0,31})?/i;

function agentOf(headers: IncomingHttpHeaders): Pick<ClientSession, 'agent' | 'agentVersion'> {
  const [, product = '', version = ''] = USER_AGENT.exec(headers['user-agent'] ?? '') ?? [];
  const agent = agentByTitle(headers['x-title']) || agentByProduct(product.toLowerCase(), headers);
  // Qwen Code's name when it speaks Anthropic's API.
  if (agent === 'claude' && version.startsWith('0.')) return { agent: 'qwen', agentVersion: version };
  return { agent, agentVersion: agent === '' ? '' : version };
}

function agentByTitle(title: string | string[] | undefined): string {
  return typeof title === 'string' && Object.hasOwn(TITLES, title) ? (TITLES[title] ?? '') : '';
}

function agentByProduct(product: string, { originator }: IncomingHttpHeaders): string {
  if (product.startsWith('codex')) return 'codex';
  // Followed by how it runs, as in `GeminiCLI-tui`.
  if (product.startsWith('geminicli')) return 'gemini';
  if (Object.hasOwn(PRODUCTS, product)) return PRODUCTS[product] ?? '';
  return typeof originator === 'string' && originator.startsWith('codex') ? 'codex' : '';
}

/** Longer ones are no ids. */
const MAX_FIELD_BYTES = 2_048;

function sessionInBody({ bytes, members }: Pick<WireRequest, 'bytes' | 'members'>, agent: string): string {
  const usesCacheKey = CACHE_KEY_AGENTS.has(agent);
  for (const member of members) {
    const { key, start, end } = member;
    const isCacheKey = usesCacheKey && key === 'prompt_cache_key';
    if ((!isCacheKey && key !== 'metadata') || end - start > MAX_FIELD_BYTES) continue;
    const value = readLeniently(bytes, member);
    const sessionId = isCacheKey ? idOf(value) : sessionInMetadata(value);
    if (sessionId !== '') return sessionId;
  }
  return '';
}

/** The value; undefined for invalid JSON, which is left for the provider to refuse. */
function readLeniently(bytes: Buffer, member: Range): unknown {
  try {
    return readValue(bytes, member);
  } catch {
    return undefined;
  }
}

const OLD_MARK = '_session_';

/** Claude Code's `metadata.user_id`: a JSON object with `session_id`, in old versions `user_..._session_ID`. */
function sessionInMetadata(metadata: unknown): string {
  const userId = isObject(metadata) ? metadata.user_id : undefined;
  if (typeof userId !== 'string') return '';
  if (userId.startsWith('{')) return idOf(parseObject(userId)?.session_id);
  const at = userId.lastIndexOf(OLD_MARK);
  return at < 0 ? '' : idOf(userId.slice(at + OLD_MARK.length));
}

const PLAIN_ID = /^[\x21-\x7e]{1,128}$/;

/** The id, or its hash if it is long or has unprintable characters; empty if it isn't text. */
function idOf(value: unknown): string {
  if (typeof value !== 'string' || value === '') return '';
  if (PLAIN_ID.test(value) && withoutOwnKeys(value) === value) return value;
  return `sha256-${createHash('sha256').update(value).digest('base64url')}`;
}

/** Whether the headers are those of Codex, OpenAI's coding agent. */
export function isFromCodex({ originator }: IncomingHttpHeaders): boolean {
  return String(originator ?? '').startsWith('codex');
}
