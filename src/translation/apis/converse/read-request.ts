import { badRequest, type GwError } from '../../../errors.ts';
import { isObject } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import { asText, definedFields, isEmpty, type Json, lookUp, objectAt, textAt } from '../../json.ts';
import { eachObject, eachOptional, optionalObject } from '../fields.ts';

export interface ConverseCall {
  model: string;
  /** The output limit of a request without one; undefined to leave it to the model. */
  maxTokens: number | undefined;
}

/**
 * A request of Bedrock's Converse as a messages request, which has nearly the same parts
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html). Throws GwError 400 for what has no
 * equivalent. `requestMetadata` is for AWS's own log.
 */
export function messagesOfConverse(body: Json, { model, maxTokens }: ConverseCall): Json {
  const { messages, system, inferenceConfig, toolConfig, outputConfig, additionalModelRequestFields } = body;
  const { performanceConfig, serviceTier, requestMetadata: _, ...rest } = remaining(body);
  refuseRest(rest);
  takeDefault(performanceConfig, 'performanceConfig', { latency: 'standard' });
  takeDefault(serviceTier, 'serviceTier', { type: 'default' });
  const config = optionalObject(inferenceConfig, 'inferenceConfig');
  const { maxTokens: limit, temperature, topP, stopSequences, ...others } = config;
  refuseRest(others, 'inferenceConfig.');
  const added = optionalObject(additionalModelRequestFields, 'additionalModelRequestFields');
  return definedFields({
    ...added,
    model,
    max_tokens: limit ?? maxTokens,
    temperature,
    top_p: topP,
    stop_sequences: stopSequences,
    system: isEmpty(system) ? undefined : blocksIn(system, 'system', textBlock),
    messages: eachObject(messages, 'messages', ({ role, content }, at) => ({
      role,
      content: blocksIn(content, `${at}.content`, contentBlock),
    })),
    ...toolsIn(optionalObject(toolConfig, 'toolConfig')),
    output_config: formatIn(optionalObject(outputConfig, 'outputConfig'), added.output_config),
  });
}

const READ: ReadonlySet<string> = new Set([
  ...['messages', 'system', 'inferenceConfig', 'toolConfig', 'outputConfig', 'additionalModelRequestFields'],
  // Botocore sends it with a request that it has read from a path.
  'modelId',
]);

const remaining = (body: Json): Json =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !READ.has(name)));

function noEquivalent(param: string): GwError {
  return badRequest(
    `gw can't pass "${param}" on: it has no equivalent outside of Converse. Remove it`,
    param,
    'unsupported_parameter',
  );
}

function refuseRest(rest: Json, at = ''): void {
  const name = Object.keys(rest).find((each) => !isEmpty(rest[each]));
  if (name !== undefined) throw noEquivalent(at + name);
}

function takeDefault(value: unknown, param: string, expected: Record<string, string>): void {
  for (const [name, given] of Object.entries(optionalObject(value, param)))
    if (!isEmpty(given) && given !== expected[name]) throw noEquivalent(`${param}.${name}`);
}

type ReadBlock = (block: Json, at: string) => Json;

/** The blocks of a list. A cache point becomes a mark of the block before it. */
function blocksIn(list: unknown, at: string, read: ReadBlock): Json[] {
  const blocks: Json[] = [];
  eachObject(list, at, (block, path) => {
    if (block.cachePoint === undefined) {
      blocks.push(read(block, path));
      return;
    }
    const last = blocks.at(-1);
    const { ttl } = objectAt(block.cachePoint, `${path}.cachePoint`);
    if (!last) throw badRequest(`"${path}.cachePoint" has nothing before it`, path, 'invalid_value');
    last.cache_control = definedFields({ type: 'ephemeral', ttl });
  });
  return blocks;
}

function textBlock({ text, guardContent, ...rest }: Json, at: string): Json {
  refuseRest(rest, `${at}.`);
  // Guarded text is plain text to the model.
  const guarded = optionalObject(guardContent, `${at}.guardContent`).text;
  const value = isObject(guarded) ? guarded.text : text;
  return { type: 'text', text: textAt(value, `${at}.text`) };
}

const BLOCKS: Readonly<Record<string, (value: Json, at: string) => Json>> = {
  image: ({ format, source }, at) => ({
    type: 'image',
    source: { type: 'base64', media_type: `image/${asText(format)}`, data: bytesIn(source, at) },
  }),
  document: documentBlock,
  toolUse: ({ toolUseId, name, input }) => ({ type: 'tool_use', id: toolUseId, name, input: input ?? {} }),
  toolResult: ({ toolUseId, content, status }, at) =>
    definedFields({
      type: 'tool_result',
      tool_use_id: toolUseId,
      content: blocksIn(content, `${at}.content`, contentBlock),
      is_error: status === 'error' || undefined,
    }),
  reasoningContent: ({ reasoningText, redactedContent }, at) => {
    if (redactedContent !== undefined)
      return { type: 'redacted_thinking', data: Buffer.from(asText(redactedContent), 'base64').toString() };
    const { text, signature } = objectAt(reasoningText, `${at}.reasoningText`);
    return { type: 'thinking', thinking: text, signature };
  },
  citationsContent: ({ content }, at) => ({
    type: 'text',
    text: eachOptional(content, `${at}.content`, ({ text }) => asText(text ?? '')).join(''),
  }),
  searchResult: ({ title, source, content, citations }, at) =>
    definedFields({
      type: 'search_result',
      title,
      source,
      content: blocksIn(content, `${at}.content`, textBlock),
      citations,
    }),
};

/** A block has one member, which is named after its kind. */
function contentBlock(block: Json, at: string): Json {
  if (block.json !== undefined) return { type: 'text', text: JSON.stringify(block.json) };
  const [kind = ''] = Object.keys(block).filter((name) => block[name] !== undefined);
  const read = lookUp(BLOCKS, kind);
  return read ? read(objectAt(block[kind], `${at}.${kind}`), `${at}.${kind}`) : textBlock(block, at);
}

/** In base64. */
function bytesIn(source: unknown, at: string): string {
  const { bytes, ...rest } = objectAt(source, `${at}.source`);
  refuseRest(rest, `${at}.source.`);
  return textAt(bytes, `${at}.source.bytes`);
}

const TEXTS: ReadonlySet<unknown> = new Set(['txt', 'md', 'csv', 'html']);

function documentBlock({ format, name, source, context, citations }: Json, at: string): Json {
  const { text, content, ...others } = objectAt(source, `${at}.source`);
  const rest = definedFields({ title: name, context, citations });
  const ofText = (data: string) => ({ type: 'text', media_type: 'text/plain', data });
  if (typeof text === 'string') return { type: 'document', source: ofText(text), ...rest };
  if (content !== undefined) {
    const blocks = blocksIn(content, `${at}.source.content`, textBlock);
    return { type: 'document', source: { type: 'content', content: blocks }, ...rest };
  }
  const data = bytesIn(others, at);
  if (TEXTS.has(format))
    return { type: 'document', source: ofText(Buffer.from(data, 'base64').toString()), ...rest };
  if (format !== undefined && format !== 'pdf') throw noEquivalent(`${at}.format`);
  return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data }, ...rest };
}

function toolsIn({ tools, toolChoice, ...rest }: Json): Json {
  refuseRest(rest, 'toolConfig.');
  if (isEmpty(tools)) return {};
  const [kind = ''] = Object.keys(optionalObject(toolChoice, 'toolConfig.toolChoice'));
  const choice = isObject(toolChoice) ? optionalObject(toolChoice[kind], 'toolConfig.toolChoice') : {};
  return {
    tools: blocksIn(tools, 'toolConfig.tools', ({ toolSpec, ...others }, at) => {
      refuseRest(others, `${at}.`);
      const { name, description, inputSchema, strict } = objectAt(toolSpec, `${at}.toolSpec`);
      const { json } = objectAt(inputSchema, `${at}.toolSpec.inputSchema`);
      return definedFields({ name, description, input_schema: json, strict });
    }),
    ...(kind === '' ? {} : { tool_choice: { type: kind, ...choice } }),
  };
}

/** A schema comes as text. */
function formatIn({ textFormat, ...rest }: Json, added: unknown): Json | undefined {
  refuseRest(rest, 'outputConfig.');
  const own = isObject(added) ? added : undefined;
  if (isEmpty(textFormat)) return own;
  const { type, structure } = objectAt(textFormat, 'outputConfig.textFormat');
  const { jsonSchema } = objectAt(structure, 'outputConfig.textFormat.structure');
  const { schema } = objectAt(jsonSchema, 'outputConfig.textFormat.structure.jsonSchema');
  const read = parseObject(asText(schema));
  if (!read) throw badRequest('"schema" is no JSON object', 'outputConfig.textFormat', 'invalid_value');
  return { ...own, format: { type, schema: read } };
}
