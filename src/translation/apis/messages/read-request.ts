import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  type Format,
  type Part,
  type Reasoning,
  type ResultPart,
  type TextPart,
  type Tool,
  type ToolChoice,
  textPart,
} from '../../conversation/conversation.ts';
import { append, asText, isEmpty, type Json, listAt, objectAt, textAt } from '../../json.ts';
import { without } from '../../left-out.ts';
import { eachObject, eachOptional, numberIn, optionalObject, optionalText, rest } from '../fields.ts';

/** Fields read here, those of gw, and the mark of a cache that all providers but Anthropic fill by themselves. */
// biome-ignore format: related fields share a line
const READ = new Set([
  'model', 'messages', 'system', 'service', 'max_tokens', 'stream', 'tools', 'tool_choice', 'thinking',
  'output_config', 'temperature', 'top_p', 'stop_sequences', 'metadata', 'service_tier', 'cache_control',
  'context_management',
]);

/** Reads a messages request: https://platform.claude.com/docs/en/api/messages */
export function readMessagesRequest(body: Json, context: RequestContext): Conversation {
  checkEdits(body.context_management, context);
  const { effort, format, ...ofOutput } = optionalObject(body.output_config, 'output_config');
  context.refuseRest(ofOutput, 'output_config');
  const system = isEmpty(body.system) ? [] : textParts(body.system, 'system', context);
  return {
    model: asText(body.model),
    turns: [
      ...(system.length > 0 ? [{ role: 'system', parts: system } as const] : []),
      ...eachObject(body.messages, 'messages', (turn, at) => turnOf(turn, at, context)),
    ],
    ...toolFields(body, context),
    isStream: body.stream === true,
    maxTokens: numberIn(body.max_tokens, 'max_tokens'),
    temperature: numberIn(body.temperature, 'temperature'),
    topP: numberIn(body.top_p, 'top_p'),
    stops: isEmpty(body.stop_sequences)
      ? undefined
      : listAt(body.stop_sequences, 'stop_sequences').map(asText),
    reasoning: reasoningOf(effort, body.thinking),
    format: formatOf(format, context),
    user: userOf(body.metadata, context),
    serviceTier: body.service_tier === 'standard_only' ? 'default' : undefined,
    extra: rest(body, READ),
  };
}

/** Earlier reasoning is never sent, so clearing it needs no translation. Only Anthropic supports other edits. */
function checkEdits(value: unknown, { cannotExpress }: RequestContext): void {
  if (isEmpty(value)) return;
  const { edits } = objectAt(value, 'context_management');
  eachOptional(edits, 'context_management.edits', ({ type }, at) => {
    if (!/^clear_thinking_/.test(asText(type))) throw cannotExpress(at);
  });
}

function userOf(metadata: unknown, { refuseRest }: RequestContext): string | undefined {
  if (isEmpty(metadata)) return undefined;
  const { user_id, ...others } = objectAt(metadata, 'metadata');
  refuseRest(others, 'metadata');
  return isEmpty(user_id) ? undefined : textAt(user_id, 'metadata.user_id');
}

function reasoningOf(effort: unknown, thinking: unknown): Reasoning | undefined {
  if (isEmpty(effort) && isEmpty(thinking)) return undefined;
  const { type, budget_tokens } = optionalObject(thinking, 'thinking');
  return {
    effort: optionalText(effort),
    budgetTokens: type === 'enabled' && typeof budget_tokens === 'number' ? budget_tokens : undefined,
    isAdaptive: type === 'adaptive',
  };
}

function turnOf(
  { role, content, ...fields }: Json,
  at: string,
  context: RequestContext,
): Conversation['turns'][number] {
  context.refuseRest(fields, at);
  switch (role) {
    case 'user':
      return {
        role,
        parts: blocksIn(content, `${at}.content`, (block, path) => userPart(block, path, context)),
      };
    case 'assistant':
      return {
        role,
        parts: blocksIn(content, `${at}.content`, (block, path) => assistantPart(block, path, context)),
      };
    // Claude Code inserts reminders between turns.
    case 'system':
      return { role, parts: textParts(content, `${at}.content`, context) };
    default:
      throw context.cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
  }
}

function blocksIn<P extends Part>(
  content: unknown,
  at: string,
  read: (block: Json, at: string) => P[],
): (P | TextPart)[] {
  if (typeof content === 'string') return [textPart(content)];
  const parts: (P | TextPart)[] = [];
  eachObject(content, at, (block, path) => append(parts, read(block, path)));
  return parts;
}

const userPart = (block: Json, at: string, context: RequestContext): Part[] =>
  block.type === 'tool_result' ? [resultPart(block, at, context)] : [contentPart(block, at, context)];

function resultPart(block: Json, at: string, context: RequestContext): ResultPart {
  const { type: _type, tool_use_id, content, is_error, cache_control: mark, ...others } = block;
  context.refuseRest(others, at);
  const id = textAt(tool_use_id, `${at}.tool_use_id`);
  const parts = isEmpty(content)
    ? []
    : blocksIn(content, `${at}.content`, (each, path) => [resultContent(each, path, context)]);
  return { type: 'result', id, parts, isError: is_error === true, mark };
}

function resultContent(block: Json, at: string, context: RequestContext): ContentPart {
  if (block.type !== 'tool_reference') return contentPart(block, at, context);
  return textPart(`The tool ${textAt(block.tool_name, `${at}.tool_name`)} is available.`);
}

/** Whether a block or tool type, or a tool name, belongs to Anthropic's own search among deferred tools. */
function isToolSearch(type: unknown): boolean {
  return typeof type === 'string' && /^tool_search_tool_\w{1,32}$/.test(type);
}

function assistantPart(block: Json, at: string, context: RequestContext): Part[] {
  const { unseal, leaveOut } = context;
  const { type, cache_control: mark, ...fields } = block;
  switch (type) {
    case 'text':
      return [textOf(block, at, context)];
    case 'tool_use': {
      const { id, name, input, caller: _caller, ...others } = fields;
      context.refuseRest(others, at);
      const args = JSON.stringify(input ?? {});
      return [{ type: 'call', id: textAt(id, `${at}.id`), name: textAt(name, `${at}.name`), args, at, mark }];
    }
    // Only Anthropic can read what it signed; what gw has translated goes back where it came from.
    case 'thinking':
    case 'redacted_thinking': {
      const seal = unseal(fields.signature) ?? unseal(fields.data);
      return seal ? [{ type: 'reasoning', text: asText(fields.thinking ?? ''), seals: [seal] }] : [];
    }
    default:
      if (!isToolSearch(type === 'server_tool_use' ? fields.name : type))
        throw unknownType(type, at, context);
      leaveOut(`${at} (${type})`);
      return [];
  }
}

const unknownType = (type: unknown, at: string, { cannotExpress }: RequestContext) =>
  cannotExpress(`${at}.type`, `there is no content of type ${asText(type)}`);

/** Text blocks alone. Throws GwError 400 for any other block. */
function textParts(content: unknown, at: string, context: RequestContext): TextPart[] {
  return blocksIn(content, at, (block, path) => {
    if (block.type !== 'text') throw context.cannotExpress(`${path}.type`, 'only text is allowed here');
    return [textOf(block, path, context)];
  }).filter(({ text }) => text !== '');
}

function textOf(
  { type: _type, text, cache_control: mark, citations: _citations, ...others }: Json,
  at: string,
  context: RequestContext,
): TextPart {
  context.refuseRest(others, at);
  return textPart(textAt(text, `${at}.text`), mark);
}

function contentPart(block: Json, at: string, context: RequestContext): ContentPart {
  const { refuseRest } = context;
  const { type, cache_control: mark, ...fields } = block;
  switch (type) {
    case 'text':
      return textOf(block, at, context);
    case 'image': {
      const { source, ...others } = fields;
      refuseRest(others, at);
      return { type, at, url: urlOf(source, `${at}.source`, context), mark };
    }
    case 'document': {
      const { source, title, citations, ...others } = fields;
      refuseRest(others, at);
      const isCited = !isEmpty(citations) && objectAt(citations, `${at}.citations`).enabled !== false;
      if (isCited) throw context.cannotExpress(`${at}.citations`);
      const { type: kind, data } = objectAt(source, `${at}.source`);
      if (kind === 'text') return textPart(textAt(data, `${at}.source.data`), mark);
      const url = urlOf(source, `${at}.source`, context);
      return { type: 'file', at, url, name: typeof title === 'string' ? title : undefined, mark };
    }
    default:
      throw unknownType(type, at, context);
  }
}

function urlOf(value: unknown, at: string, { cannotExpress }: RequestContext): string {
  const source = objectAt(value, at);
  if (source.type === 'url') return textAt(source.url, `${at}.url`);
  if (source.type === 'base64')
    return `data:${source.media_type};base64,${textAt(source.data, `${at}.data`)}`;
  throw cannotExpress(`${at}.type`, 'use url or base64');
}

/** All tools are sent, including deferred ones, so tool search is omitted. */
function toolFields(
  { tools: value, tool_choice }: Json,
  context: RequestContext,
): Pick<Conversation, 'tools' | 'choice' | 'isSerial'> {
  const tools = eachOptional(value, 'tools', (tool, at) => {
    if (!isToolSearch(tool.type)) return [toolAt(tool, at, context)];
    context.leaveOut(`${at} (${tool.type})`);
    return [];
  }).flat();
  return !isEmpty(value) && tools.length === 0 ? { tools } : { tools, ...choiceOf(tool_choice, context) };
}

function toolAt(tool: Json, at: string, { cannotExpress, refuseRest, leaveOut }: RequestContext): Tool {
  const fields = without(tool, ['defer_loading'], at, leaveOut);
  const {
    type,
    name,
    description,
    input_schema,
    strict,
    cache_control: mark,
    eager_input_streaming: _eager,
    ...others
  } = fields;
  if (!isEmpty(type) && type !== 'custom')
    throw cannotExpress(`${at}.type`, `only Anthropic runs ${asText(type)}`);
  refuseRest(others, at);
  const isStrict = typeof strict === 'boolean' ? strict : undefined;
  return { name: asText(name), description, parameters: input_schema, isStrict, mark };
}

function choiceOf(
  value: unknown,
  { cannotExpress }: RequestContext,
): { choice?: ToolChoice; isSerial?: boolean } {
  if (isEmpty(value)) return {};
  const { type, name, disable_parallel_tool_use } = objectAt(value, 'tool_choice');
  const isSerial = disable_parallel_tool_use === true;
  if (type === 'auto' || type === 'none' || type === 'any') return { choice: type, isSerial };
  if (type === 'tool') return { choice: { name: asText(name) }, isSerial };
  throw cannotExpress('tool_choice.type');
}

function formatOf(value: unknown, { cannotExpress }: RequestContext): Format | undefined {
  if (isEmpty(value)) return undefined;
  const { type, schema } = objectAt(value, 'output_config.format');
  if (type !== 'json_schema') throw cannotExpress('output_config.format');
  return { type, schema };
}
