import { isObject, objectsIn } from '../../../src/json/object.ts';
import type { Json } from '../../../src/translation/json.ts';
import type { Reply, StrictApi } from './strict.ts';

/** What one host of chat completions refuses, and how it answers: the sources are beside the dialects. */
export interface ChatHost {
  /** Ids of calls. */
  ids?: RegExp;
  /** Fields of a request that it refuses with 422. */
  refuses?: readonly string[];
  /** Assistant messages with calls need what they came with. */
  wantsBack?: 'reasoning_content' | 'extra_content' | 'reasoning_opaque';
  /** Refuses `reasoning_content` in messages. */
  refusesReasoning?: boolean;
  userBehindTool?: false;
  systemFirst?: boolean;
  plainSchemas?: boolean;
  strictTools?: false;
  onlyAutoTools?: boolean;
  maxStops?: number;
  /** Its own manners. */
  makesId?: (name: string, index: number) => string;
  reasoningIn?: 'reasoning_content' | 'reasoning' | 'reasoning_details' | 'reasoning_text';
  finishReason?: string | null;
  argumentsAsObject?: boolean;
  oneIndex?: boolean;
  /** Calls are in a choice of their own. */
  splitsChoices?: boolean;
  usageIn?: 'choice' | 'x_groq' | undefined;
  /** OpenAI's library can't read its answers, with gw or without. */
  breaksChatLibrary?: boolean;
  comments?: boolean;
}

/** Fields of OpenAI's API that all hosts take, and those that hosts add. */
// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'model', 'messages', 'max_tokens', 'max_completion_tokens', 'stream', 'stream_options', 'temperature', 'top_p', 'stop',
  'tools', 'tool_choice', 'parallel_tool_calls', 'reasoning_effort', 'response_format', 'user', 'verbosity',
  'service_tier', 'reasoning_split', 'provider',
]);
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const PLAIN_ID = /^[\w.:-]{1,64}$/;

/** Chat completions of a host that takes nothing that its document doesn't have. */
export function strictChat(host: ChatHost): StrictApi {
  /** What assistant messages were sent with, by the id of their first call. */
  const sent = new Map<string, { reasoning: string; extra: unknown }>();
  return {
    path: '/chat/completions',
    faultOf: (body) => faultOf(body, host, sent),
    turnsOf: ({ messages }) => objectsIn(messages).filter(({ tool_calls }) => tool_calls).length,
    toolsOf: ({ tools }) => objectsIn(tools).map(({ function: fn }) => String((fn as Json).name)),
    resultsOf: ({ messages }) =>
      objectsIn(messages).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])),
    plain: (reply) => plain(reply, host, sent),
    stream: (reply) => stream(reply, host, sent),
    error: (message, status) => ({
      error: { message, type: 'invalid_request_error', code: null, param: null },
      status,
    }),
  };
}

type Sent = Map<string, { reasoning: string; extra: unknown }>;

function faultOf(body: Json, host: ChatHost, sent: Sent): string | undefined {
  const refused = Object.keys(body).find((key) => !KNOWN.has(key) || host.refuses?.includes(key));
  if (refused !== undefined) return `Extra inputs are not permitted: ${refused}`;
  if (Array.isArray(body.stop) && body.stop.length > (host.maxStops ?? 4)) return 'too many stops';
  if (host.onlyAutoTools && body.tool_choice !== undefined && body.tool_choice !== 'auto')
    return 'tool_choice must be auto';
  return toolFault(body, host) ?? messagesFault(objectsIn(body.messages), host, sent);
}

function toolFault({ tools }: Json, host: ChatHost): string | undefined {
  for (const { function: fn } of objectsIn(tools)) {
    const { name, parameters, strict } = fn as Json;
    if (!NAME.test(String(name))) return `invalid tool name ${name}`;
    if (strict !== undefined && host.strictTools === false) return 'strict is not permitted';
    if (!isObject(parameters) || parameters.type !== 'object' || !isObject(parameters.properties))
      return `${name}: object schema missing properties`;
    if (host.plainSchemas && /"(\$\w+|additionalProperties|const|oneOf)"/.test(JSON.stringify(parameters)))
      return `${name}: unknown name in schema`;
  }
  return undefined;
}

function messagesFault(messages: readonly Json[], host: ChatHost, sent: Sent): string | undefined {
  let open: string[] = [];
  for (const [i, message] of messages.entries()) {
    const { role, tool_calls, tool_call_id, content } = message;
    if (role === 'tool') {
      if (!open.includes(String(tool_call_id))) return `unexpected tool_call_id ${tool_call_id}`;
      open = open.filter((id) => id !== tool_call_id);
      continue;
    }
    if (open.length > 0) return `tool_calls must be followed by tool messages: ${open}`;
    if (role === 'system' && host.systemFirst && i > 0) return 'system must be first';
    if (role === 'user' && host.userBehindTool === false && messages[i - 1]?.role === 'tool')
      return "Unexpected role 'user' after role 'tool'";
    if (role !== 'assistant') continue;
    if (message.reasoning_content !== undefined && host.refusesReasoning)
      return 'reasoning_content is unsupported';
    if (!tool_calls) {
      if (typeof content !== 'string' || content === '') return 'assistant message without content';
      continue;
    }
    open = objectsIn(tool_calls).map(({ id }) => String(id));
    if (new Set(open).size < open.length) return 'duplicate ids';
    const odd = open.find((id) => !(host.ids ?? PLAIN_ID).test(id));
    if (odd !== undefined) return `invalid tool call id ${odd}`;
    const fault = backFault(message, open[0] ?? '', host, sent);
    if (fault) return fault;
  }
  return open.length > 0 ? 'calls without results' : undefined;
}

function backFault(message: Json, id: string, host: ChatHost, sent: Sent): string | undefined {
  const before = sent.get(id);
  if (host.wantsBack === 'reasoning_content') {
    if (message.reasoning_content === undefined) return 'reasoning_content must be passed back';
    if (before && message.reasoning_content !== before.reasoning) return 'another reasoning_content';
  }
  if (host.wantsBack === 'reasoning_opaque' && before)
    return message.reasoning_opaque === sealOf(before.reasoning) ? undefined : 'another reasoning_opaque';
  if (host.wantsBack !== 'extra_content') return undefined;
  const [first] = objectsIn(message.tool_calls);
  if (!isObject(first?.extra_content)) return 'missing a thought_signature';
  if (before && JSON.stringify(first.extra_content) !== JSON.stringify(before.extra))
    return 'another thought_signature';
  return undefined;
}

function callsOf({ calls, turn, model }: Reply, host: ChatHost): Json[] {
  return calls.map(({ name, args }, i) => ({
    index: host.oneIndex ? 0 : i,
    id: host.makesId?.(name, turn * 2 + i) ?? `call_${model.replace(/\W/g, '')}_${turn}_${i}`,
    type: 'function',
    function: { name, arguments: host.argumentsAsObject ? args : JSON.stringify(args) },
    ...(host.wantsBack === 'extra_content' && i === 0
      ? { extra_content: { google: { thought_signature: `signature ${turn}` } } }
      : {}),
  }));
}

const sealOf = (reasoning: string): string => `sealed ${reasoning}`;

const sealFields = ({ reasoning }: Reply, { wantsBack }: ChatHost): Json =>
  wantsBack === 'reasoning_opaque' ? { reasoning_opaque: sealOf(reasoning) } : {};

const reasoningFields = (text: string, field: ChatHost['reasoningIn']): Json =>
  field === 'reasoning_details'
    ? { reasoning_details: [{ type: 'reasoning.text', index: 0, text, format: 'x' }] }
    : field
      ? { [field]: text }
      : {};

function remember(calls: readonly Json[], reasoning: string, sent: Sent): void {
  const [first] = calls;
  if (first) sent.set(String(first.id), { reasoning, extra: first.extra_content });
}

function usageFields({ usage }: Reply, host: ChatHost): { top?: Json; choice?: Json } {
  const counts = {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
  };
  if (host.usageIn === 'choice') return { choice: { usage: counts } };
  return { top: host.usageIn === 'x_groq' ? { x_groq: { usage: counts } } : { usage: counts } };
}

const finishOf = ({ calls }: Reply, host: ChatHost): string | null =>
  calls.length === 0 ? 'stop' : host.finishReason === undefined ? 'tool_calls' : host.finishReason;

function plain(reply: Reply, host: ChatHost, sent: Sent): Json {
  const calls = callsOf(reply, host);
  remember(calls, reply.reasoning, sent);
  const message = {
    role: 'assistant',
    content: reply.text === '' ? null : reply.text,
    ...reasoningFields(reply.reasoning, host.reasoningIn),
    ...sealFields(reply, host),
    ...(calls.length > 0 ? { tool_calls: calls.map(({ index: _index, ...call }) => call) } : {}),
  };
  // Where a stream has its usage elsewhere, a whole answer has it where all have it.
  const { top } = usageFields(reply, { ...host, usageIn: undefined });
  const finish_reason = finishOf(reply, host) ?? 'stop';
  const { tool_calls, ...text } = message;
  const messages = host.splitsChoices && tool_calls ? [text, { role: 'assistant', tool_calls }] : [message];
  const choices = messages.map((each, index) => ({ index, message: each, finish_reason }));
  return {
    id: `chat-${reply.turn}`,
    object: 'chat.completion',
    created: 1,
    model: reply.model,
    choices,
    ...top,
  };
}

function stream(reply: Reply, host: ChatHost, sent: Sent): string {
  const calls = callsOf(reply, host);
  remember(calls, reply.reasoning, sent);
  const chunk = (delta: Json, finish_reason: string | null = null, more: Json = {}) => ({
    id: `chat-${reply.turn}`,
    object: 'chat.completion.chunk',
    created: 1,
    model: reply.model,
    choices: [{ index: 0, delta, finish_reason, ...more }],
  });
  const halves = (text: string) => [text.slice(0, 3), text.slice(3)].filter((part) => part !== '');
  const deltas: Json[] = [
    { role: 'assistant', content: '' },
    ...halves(reply.reasoning).map((part) => reasoningFields(part, host.reasoningIn)),
    ...halves(reply.text).map((content) => ({ content })),
    ...(host.wantsBack === 'reasoning_opaque' ? [sealFields(reply, host)] : []),
    ...calls.flatMap((call) => {
      const { index, function: fn, ...rest } = call;
      const { name, arguments: args } = fn as Json;
      if (typeof args !== 'string' || host.oneIndex) return [{ tool_calls: [call] }];
      return [
        { tool_calls: [{ index, ...rest, function: { name, arguments: '' } }] },
        ...halves(args).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
      ];
    }),
  ];
  const { top, choice } = usageFields(reply, host);
  const last = chunk({}, finishOf(reply, host), choice);
  const events = [
    ...deltas.map((delta) => chunk(delta)),
    last,
    ...(top ? [{ ...last, choices: [], ...top }] : []),
  ];
  const comment = host.comments ? ': PROCESSING\n\n' : '';
  return `${comment}${events.map((event) => `data: ${JSON.stringify(event)}\n\n${comment}`).join('')}data: [DONE]\n\n`;
}
