import { deflateSync, gzipSync } from 'node:zlib';
import type { Dice } from '../fuzz/dice.ts';
import { Raw, spellJson } from './spell-json.ts';
import { spellPath } from './spell-path.ts';

/** A request of the campaign. */
export interface Sent {
  method: string;
  path: string;
  headers: [name: string, value: string][];
  body: Buffer;
}

/** A request before it is written. A member may stand twice. */
interface Draft {
  method: string;
  path: string;
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  members: [key: string, value: unknown][];
  /** Content type. */
  type: string;
}

const HI = [{ role: 'user', content: 'hi' }];
type Base = readonly [path: string, body: Record<string, unknown>];
const STAGES: readonly Base[] = [
  ['/v1/chat/completions', { messages: HI, max_tokens: 9 }],
  ['/v1/chat/completions', { messages: HI, max_completion_tokens: 9 }],
  ['/v1/complete', { messages: HI, max_tokens: 9 }],
  ['/v1/completions', { prompt: 'hi', max_tokens: 9 }],
  ['/v1/responses', { input: 'hi', max_output_tokens: 16 }],
  ['/v1/responses', { input: [{ role: 'user', content: 'hi' }] }],
  ['/v1/responses/compact', { input: 'hi' }],
  ['/v1/messages', { messages: HI, max_tokens: 9 }],
  ['/v1/embeddings', { input: 'hi' }],
];
const OTHERS: readonly Base[] = [
  ['/v1/moderations', { input: 'hi' }],
  ['/v1/conversations', { inputs: 'hi', items: [] }],
  ['/v1/conversations/conv_1', { inputs: 'hi' }],
  ['/v1/images/generations', { prompt: 'hi' }],
  ['/v1/images/edits', { prompt: 'hi' }],
  ['/v1/audio/speech', { input: 'hi', voice: 'alloy' }],
  ['/v1/audio/transcriptions', { file: 'x' }],
  ['/v1/videos', { prompt: 'hi' }],
  ['/v1/batches', { input_file_id: 'file-1', endpoint: '/v1/chat/completions' }],
  ['/v1/files', { purpose: 'batch' }],
  ['/v1/files/file-1/content', {}],
  ['/v1/messages/count_tokens', { messages: HI }],
  ['/v1/messages/batches', { requests: [{ custom_id: 'a', params: { messages: HI, max_tokens: 9 } }] }],
  ['/v1/responses/resp_1', {}],
  ['/v1/responses/resp_1/cancel', {}],
  ['/v1/threads/thread_1/runs', { assistant_id: 'asst_1' }],
  ['/v1/agents/completions', { agent_id: 'ag_1', messages: HI }],
  ['/v1/fim/completions', { prompt: 'hi' }],
  ['/v1/ocr', { document: { type: 'document_url' } }],
  ['/v1/rerank', { query: 'hi', documents: ['a'] }],
  ['/v1/fine_tuning/jobs', { training_file: 'file-1' }],
  ['/v1/health', {}],
  ['/v1/key/info', {}],
  ['/v1/anything/cancel', {}],
];
const MODELS = [
  ...['mock/cheap', 'mock/cheap', 'mock/free', 'mock/dear', 'openai/gpt-cheap', 'gpt-cheap', 'openai/free'],
  ...[
    'openrouter/cheap',
    'openrouter/cheap:online',
    'openrouter/free@preset/x',
    'mistral/cheap',
    'mistral/free',
  ],
  ...[
    'anthropic/claude-cheap',
    'claude-cheap',
    'anthropic/free',
    'cheap',
    'openai/gpt-dear',
    'nothing/known',
  ],
];
const DEAR = ['mock/dear', 'dear', 'openai/gpt-dear', 'gpt-dear', 'claude-dear', 'openrouter/dear'];
const PROVIDERS = ['openai', 'anthropic', 'openrouter', 'mistral', 'mock'];
const METHODS = ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];

export function makeRequest(dice: Dice): Sent {
  const isStage = dice.chance(0.75);
  const [path, body] = dice.pick(isStage ? STAGES : OTHERS);
  const draft: Draft = {
    method: /content$|resp_1$|health|info$/.test(path) ? 'GET' : 'POST',
    path,
    query: [],
    headers: [],
    members: [],
    type: 'application/json',
  };
  if (draft.method === 'POST') draft.members.push(['model', dice.pick(MODELS)], ...Object.entries(body));
  if (dice.chance(0.3) && isStage) draft.members.push(['stream', true]);
  if (dice.chance(isStage ? 0.1 : 0.6)) draft.headers.push(['x-service-provider', dice.pick(PROVIDERS)]);
  for (let left = dice.below(4); left > 0; left--) dice.pick(ODDITIES)(draft, dice);
  return written(draft, dice);
}

type Oddity = (draft: Draft, dice: Dice) => void;

const put = (draft: Draft, key: string, value: unknown) => void draft.members.push([key, value]);

/** Fields that name a model somewhere, or choose one. */
const MODEL_FIELDS = [
  ...[
    'models',
    'fallbacks',
    'fallback_models',
    'Models',
    'MODEL',
    'model',
    'Model',
    'model_id',
    'modelId',
    'modelName',
  ],
  ...[
    'fallbackModels',
    'extra_body',
    'provider',
    'plugins',
    'options',
    'router',
    'reasoning',
    'config',
    'preset',
    'agent_id',
  ],
  ...['agentId', 'deployment', 'model\0', 'mod\u00e9l', 'models ', 'mo\ufeffdel'],
];
const LIMIT_FIELDS = [
  ...[
    'max_tokens',
    'max_completion_tokens',
    'max_output_tokens',
    'maxTokens',
    'MAX_TOKENS',
    'maxOutputTokens',
    'n',
  ],
  ...[
    'best_of',
    'N',
    'bestOf',
    'max_new_tokens',
    'max_tool_calls',
    'maxCompletionTokens',
    'max-tokens',
    'max_tokens ',
  ],
];
const LIMIT_VALUES: readonly unknown[] = [
  1,
  16,
  100,
  5_000,
  100_000,
  '50000',
  9e4,
  1.5,
  -1,
  null,
  true,
  [9],
  1e300,
];
const MORE_FIELDS: readonly (readonly [string, unknown])[] = [
  ['service_tier', 'priority'],
  ['service_tier', 'ultrafast'],
  ['serviceTier', 'ultrafast'],
  ['speed', 'fast'],
  ['background', true],
  ['prompt', { id: 'pmpt_1' }],
  ['previous_response_id', 'resp_1'],
  ['conversation', 'conv_1'],
  ['web_search_options', {}],
  ['webSearchOptions', {}],
  ['plugins', [{ id: 'web' }]],
  ['thinking', { type: 'enabled', budget_tokens: 50_000 }],
  ['thinking', new Raw('{"type":"enabled","budget_tokens":50000,"budget_tokens":9}')],
  ['reasoning', new Raw('{"max_tokens":9,"max_tokens":90000}')],
  ['reasoning', { max_tokens: 50_000 }],
  ['metadata', { model: 'dear', models: ['dear'] }],
  ['user', 'gpt-dear'],
  ['tools', [{ type: 'web_search' }]],
  ['tools', [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }]],
  ['tools', [{ type: 'image_generation', model: 'gpt-dear' }]],
  ['tools', [{ type: 'code_interpreter', container: { type: 'auto' } }]],
  [
    'tools',
    [
      {
        type: 'function',
        function: { name: 'f', parameters: { properties: { model: { enum: ['dear'] } } } },
      },
    ],
  ],
  ['tools', [{ type: 'surprise', name: 'x' }]],
  ['Tools', [{ type: 'web_search' }]],
];
const PARTS: readonly object[] = [
  { type: 'image_url', image_url: { url: 'https://x.test/1.png' } },
  { type: 'image', source: { type: 'url', url: 'https://x.test/1.png' } },
  { type: 'input_image', image_url: 'https://x.test/1.png' },
  { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
  { type: 'document', source: { type: 'url', url: 'https://x.test/1.pdf' } },
  { type: 'input_file', file_id: 'file-1' },
  { type: 'text', text: 'hi' },
  { type: 'item_reference', id: 'msg_1' },
];
const ODD_HEADERS = [
  ...[
    'x-model',
    'x-portkey-config',
    'x-litellm-model',
    'helicone-target-url',
    'openai-organization',
    'openai-project',
  ],
  ...[
    'x-goog-user-project',
    'x-original-url',
    'x-forwarded-host',
    'x-http-method-override',
    'cf-aig-custom-provider',
  ],
];
const TYPES = [
  ...[
    'application/json; charset=utf-8',
    'application/json; charset=utf-16',
    'application/json; charset=utf-7',
  ],
  ...[
    'text/plain',
    'application/vnd.api+json',
    'multipart/form-data; boundary=b',
    'application/x-www-form-urlencoded',
  ],
  ...['multipart/form-data; boundary=b', 'application/octet-stream', 'APPLICATION/JSON', ''],
];

const ODDITIES: readonly Oddity[] = [
  (draft, dice) => {
    draft.path = spellPath(draft.path, dice);
  },
  (draft, dice) => {
    draft.method = dice.pick(METHODS);
  },
  (draft, dice) =>
    void draft.query.push([dice.pick([...MODEL_FIELDS, ...LIMIT_FIELDS]), dice.pick([...DEAR, '50000'])]),
  (draft, dice) =>
    void draft.headers.push([dice.pick(ODD_HEADERS), dice.pick([...DEAR, 'GET', '/v1/files'])]),
  (draft, dice) => putModel(draft, dice),
  (draft, dice) => putModel(draft, dice),
  (draft, dice) => put(draft, dice.pick(LIMIT_FIELDS), dice.pick(LIMIT_VALUES)),
  (draft, dice) => put(draft, ...dice.pick(MORE_FIELDS)),
  (draft, dice) => put(draft, ...dice.pick(MORE_FIELDS)),
  (draft, dice) => putParts(draft, dice),
  (draft, dice) => {
    draft.type = dice.pick(TYPES);
  },
  (draft, dice) => {
    draft.members.splice(dice.below(draft.members.length + 1), dice.below(2));
  },
];

function putModel(draft: Draft, dice: Dice): void {
  const model = dice.pick(DEAR);
  const value = dice.pick<unknown>([
    model,
    [model],
    { model },
    [{ model }],
    { models: [model] },
    { a: [{ via: model }] },
    new Raw(`{"model":"${model}","model":"cheap"}`),
    new Raw(`[{"models":["${model}"],"models":[]}]`),
  ]);
  const member: [string, unknown] = [dice.pick(MODEL_FIELDS), value];
  if (dice.chance(0.5)) draft.members.unshift(member);
  else draft.members.push(member);
}

function putParts(draft: Draft, dice: Dice): void {
  const content = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(PARTS));
  const message = { role: 'user', content };
  const key = dice.pick(['messages', 'input', 'prompt']);
  const at = draft.members.findIndex(([name]) => name === key);
  const value = dice.chance(0.7) ? [message] : content;
  if (at < 0) put(draft, key, value);
  else draft.members[at] = [key, value];
}

function written(draft: Draft, dice: Dice): Sent {
  const { method, query, type } = draft;
  const headers: Sent['headers'] = [...draft.headers];
  if (type !== '') headers.push(['content-type', type]);
  if (type !== '' && dice.chance(0.02)) headers.push(['content-type', 'application/json']);
  let body = method === 'GET' || method === 'HEAD' ? Buffer.alloc(0) : bodyOf(draft, dice);
  if (dice.chance(0.03)) {
    const encoding = dice.pick(['gzip', 'deflate', 'x', 'gzip, gzip']);
    headers.push(['content-encoding', encoding]);
    if (encoding === 'deflate') body = deflateSync(body);
    else for (const _ of encoding.match(/gzip/g) ?? []) body = gzipSync(body);
  }
  const search = query
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join(dice.pick(['&', '&', ';']));
  return { method, path: search === '' ? draft.path : `${draft.path}?${search}`, headers, body };
}

function bodyOf({ members, type }: Draft, dice: Dice): Buffer {
  if (type.startsWith('multipart') && dice.chance(0.9)) return multipart(members, dice);
  if (type.includes('urlencoded') && dice.chance(0.9))
    return Buffer.from(
      new URLSearchParams(members.map(([key, value]): [string, string] => [key, textOf(value)])).toString(),
    );
  return spellJson(members, dice, /utf-7/.test(type));
}

const textOf = (value: unknown): string =>
  value instanceof Raw ? value.json : typeof value === 'string' ? value : JSON.stringify(value);

function multipart(members: Draft['members'], dice: Dice): Buffer {
  const parts = members.map(([key, value]) => {
    const name = dice.pick([
      `name="${key}"`,
      `name="${key}"`,
      `name=${key.trim()}`,
      `name="${key}"; filename="a"`,
    ]);
    return `--b\r\ncontent-disposition: form-data; ${name}\r\n\r\n${textOf(value)}\r\n`;
  });
  return Buffer.from(`${dice.chance(0.05) ? 'preamble\r\n' : ''}${parts.join('')}--b--\r\n`);
}
