import { isObject, objectsIn } from '../../../src/json/object.ts';
import type { Json } from '../../../src/translation/json.ts';
import { eventText } from '../../wire/support/event-scripts.ts';
import { messageStream } from '../../wire/support/messages-shapes.ts';
import type { Reply, StrictApi } from './strict.ts';

// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'model', 'messages', 'system', 'max_tokens', 'stream', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'tools',
  'tool_choice', 'thinking', 'output_config', 'metadata', 'service_tier', 'cache_control', 'context_management',
]);

/** Anthropic's messages, by https://platform.claude.com/docs/en/api/messages and .../extended-thinking. */
export function strictMessages(): StrictApi {
  /** Signatures that it gave. */
  const signed = new Map<string, string>();
  return {
    path: '/messages',
    faultOf: (body) => faultOf(body, signed),
    turnsOf: ({ messages }) =>
      assistantTurns(messages).filter((turn) => turn.some(({ type }) => type === 'tool_use')).length,
    toolsOf: ({ tools }) => objectsIn(tools).map(({ name }) => String(name)),
    resultsOf: ({ messages }) =>
      objectsIn(messages).flatMap(({ content }) =>
        objectsIn(content).flatMap((block) =>
          block.type === 'tool_result' ? [JSON.stringify(block.content)] : [],
        ),
      ),
    plain: (reply) => ({
      id: `msg_${reply.turn}`,
      type: 'message',
      role: 'assistant',
      model: reply.model,
      content: contentOf(reply, signed),
      stop_reason: reply.calls.length > 0 ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: usageOf(reply),
    }),
    stream: (reply) =>
      messageStream(contentOf(reply, signed), {
        startUsage: usageOf(reply),
        endUsage: { output_tokens: reply.usage.output },
        stopReason: reply.calls.length > 0 ? 'tool_use' : 'end_turn',
      })
        .map(eventText)
        .join(''),
    error: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  };
}

const usageOf = ({ usage }: Reply) => ({ input_tokens: usage.input, output_tokens: usage.output });

const assistantTurns = (messages: unknown): Json[][] =>
  objectsIn(messages).flatMap(({ role, content }) => (role === 'assistant' ? [objectsIn(content)] : []));

function contentOf(reply: Reply, signed: Map<string, string>): Json[] {
  const signature = `signature of ${reply.reasoning}`;
  signed.set(signature, reply.reasoning);
  return [
    { type: 'thinking', thinking: reply.reasoning, signature },
    ...(reply.text === '' ? [] : [{ type: 'text', text: reply.text }]),
    ...reply.calls.map(({ name, args }, i) => ({
      type: 'tool_use',
      id: `toolu_${reply.turn}_${i}_${reply.usage.input}`,
      name,
      input: args,
    })),
  ];
}

function faultOf(body: Json, signed: ReadonlyMap<string, string>): string | undefined {
  const unknown = Object.keys(body).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) return `${unknown}: Extra inputs are not permitted`;
  if (typeof body.max_tokens !== 'number') return 'max_tokens: Field required';
  if (body.temperature !== undefined && body.top_p !== undefined)
    return 'temperature and top_p cannot both be set';
  for (const { name, input_schema } of objectsIn(body.tools)) {
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(String(name))) return `invalid tool name ${name}`;
    if (!isObject(input_schema) || input_schema.type !== 'object') return 'input_schema.type: Field required';
  }
  const messages = objectsIn(body.messages);
  const ids = new Set<unknown>();
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== (i % 2 === 0 ? 'user' : 'assistant')) return `roles must alternate at ${i}`;
    const blocks = objectsIn(content);
    const fault =
      blocksFault(blocks, ids, signed) ?? resultsFault(blocks, objectsIn(messages[i - 1]?.content));
    if (fault) return `messages.${i}: ${fault}`;
  }
  if (messages.at(-1)?.role === 'assistant') return 'the last message must be of the user';
  return thinkingFault(body);
}

function blocksFault(
  blocks: Json[],
  ids: Set<unknown>,
  signed: ReadonlyMap<string, string>,
): string | undefined {
  for (const { type, text, id, signature, thinking, data } of blocks) {
    if (type === 'text' && String(text).trim() === '') return 'text content blocks must be non-empty';
    if (type === 'thinking' && signed.get(String(signature)) !== thinking)
      return 'Invalid `signature` in `thinking` block';
    if (type === 'redacted_thinking') return `Invalid data in redacted_thinking ${data}`;
    if (type !== 'tool_use') continue;
    if (!/^[a-zA-Z0-9_-]+$/.test(String(id))) return `tool_use.id: String should match pattern, is ${id}`;
    if (ids.has(id)) return '`tool_use` ids must be unique';
    ids.add(id);
  }
  return undefined;
}

/** Each call has its result in the next message, before anything else, and no other. */
function resultsFault(blocks: Json[], before: Json[]): string | undefined {
  const calls = before.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
  const results = blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id }) => tool_use_id);
  if (calls.some((id) => !results.includes(id)))
    return '`tool_use` ids were found without `tool_result` blocks';
  if (results.some((id) => !calls.includes(id))) return 'unexpected `tool_use_id`';
  const at = blocks.findIndex(({ type }) => type !== 'tool_result');
  return at >= 0 && at < results.length ? 'tool_result blocks must come first' : undefined;
}

function thinkingFault({
  thinking,
  tool_choice,
  temperature,
  max_tokens,
  messages,
}: Json): string | undefined {
  if (!isObject(thinking) || thinking.type === 'disabled') return undefined;
  if (isObject(tool_choice) && ['any', 'tool'].includes(String(tool_choice.type)))
    return 'Thinking may not be enabled when tool_choice forces tool use';
  if (temperature !== undefined && temperature !== 1)
    return '`temperature` may only be set to 1 when thinking is enabled';
  if (Number(thinking.budget_tokens ?? 0) >= Number(max_tokens))
    return '`max_tokens` must be greater than `thinking.budget_tokens`';
  const last = assistantTurns(messages).at(-1);
  const isInLoop = objectsIn(objectsIn(messages).at(-1)?.content).some(({ type }) => type === 'tool_result');
  return isInLoop && last?.[0]?.type !== 'thinking' ? 'Expected `thinking`, but found `tool_use`' : undefined;
}
