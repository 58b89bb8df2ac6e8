import { isObject } from '../../../json/object.ts';
import type { RequestContext } from '../../context.ts';
import type {
  ContentPart,
  Conversation,
  Format,
  Part,
  ReasoningPart,
  ResultPart,
  ToolChoice,
  Turn,
} from '../../conversation/conversation.ts';
import { asText, isEmpty, type Json, listAt, objectAt, textAt } from '../../json.ts';
import { eachObject, eachOptional, numberIn, optionalObject, optionalText } from '../fields.ts';
import { jsonSchema, withPlainNames } from './schema.ts';
import { unpackSignature } from './signature.ts';
import { readThinking } from './thinking.ts';

/** Reads a request for Gemini: https://ai.google.dev/api/generate-content */
export function readGeminiRequest(body: Json, context: RequestContext): Conversation {
  const { model, stream, contents, systemInstruction, tools, toolConfig, generationConfig, ...others } = body;
  const { safetySettings, labels, service: _service, serviceTier, ...unknown } = others;
  if (!isEmpty(safetySettings)) context.leaveOut('safetySettings');
  if (!isEmpty(labels)) context.leaveOut('labels');
  context.refuseRest(unknown, 'the request');
  const calls = new CallIds();
  const turns = (isObject(contents) ? [contents] : listAt(contents, 'contents')).map((content, i) =>
    turnOf(objectAt(content, `contents[${i}]`), `contents[${i}]`, context, calls),
  );
  const system = isEmpty(systemInstruction) ? [] : [systemTurn(systemInstruction, context)];
  return {
    model: asText(model),
    isStream: stream === true,
    turns: [...system, ...turns],
    ...toolFields(tools, toolConfig, context),
    ...configFields(optionalObject(generationConfig, 'generationConfig'), context),
    serviceTier: optionalText(serviceTier)?.replace(/^standard$/i, 'default'),
  };
}

/** Calls without an id get one by their place, and results without one that of the first call of their name. */
class CallIds {
  #open: { id: string; name: string }[] = [];

  call(given: unknown, name: string, at: string): string {
    const id = typeof given === 'string' && given !== '' ? given : `call_${at.replace(/\D+/g, '_')}`;
    this.#open.push({ id, name });
    return id;
  }

  result(given: unknown, name: unknown): string {
    const isIt = ({ id, name: called }: { id: string; name: string }) =>
      typeof given === 'string' && given !== '' ? id === given : called === name;
    const index = this.#open.findIndex(isIt);
    const [found] = index < 0 ? [] : this.#open.splice(index, 1);
    return found?.id ?? asText(given ?? name);
  }
}

function systemTurn(value: unknown, context: RequestContext): Turn {
  const at = 'systemInstruction';
  if (typeof value === 'string') return { role: 'system', parts: [{ type: 'text', text: value }] };
  const { parts } = objectAt(value, at);
  const texts = partsIn(parts, at, ({ text, ...others }, path) => {
    context.refuseRest(withPlainNames(others), path);
    return [{ type: 'text' as const, text: textAt(text, `${path}.text`) }];
  });
  return { role: 'system', parts: texts };
}

/** Google takes one part without its list. */
const partsIn = <P extends Part>(value: unknown, at: string, read: (part: Json, at: string) => P[]): P[] =>
  eachObject(isObject(value) ? [value] : value, `${at}.parts`, read).flat();

function turnOf({ role, parts, ...others }: Json, at: string, context: RequestContext, calls: CallIds): Turn {
  context.refuseRest(others, at);
  if (role === 'model')
    return {
      role: 'assistant',
      parts: partsIn(parts ?? [], at, (part, path) => modelPart(withPlainNames(part), path, context, calls)),
    };
  if (!isEmpty(role) && role !== 'user' && role !== 'function')
    throw context.cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
  return {
    role: 'user',
    parts: partsIn(parts, at, (part, path) => userPart(withPlainNames(part), path, context, calls)),
  };
}

function modelPart(part: Json, at: string, context: RequestContext, calls: CallIds): Part[] {
  const { text, thought, thoughtSignature, functionCall, ...others } = part;
  // Google made it, and only Google runs code there.
  const { inlineData, executableCode, codeExecutionResult, ...unknown } = others;
  context.refuseRest(unknown, at);
  if (!isEmpty(inlineData) || !isEmpty(executableCode) || !isEmpty(codeExecutionResult))
    context.leaveOut(`${at} (made by Google)`);
  const seals = unpackSignature(thoughtSignature).flatMap((packed) => context.unseal(packed) ?? []);
  const reasoning: ReasoningPart[] = seals.length > 0 ? [{ type: 'reasoning', text: '', seals }] : [];
  if (!isEmpty(functionCall)) {
    const { id: given, name: named, args } = objectAt(functionCall, `${at}.functionCall`);
    const name = textAt(named, `${at}.functionCall.name`);
    const id = calls.call(given, name, at);
    return [...reasoning, { type: 'call', id, name, args: JSON.stringify(args ?? {}), at }];
  }
  if (thought === true || isEmpty(text)) return reasoning;
  return [...reasoning, { type: 'text', text: asText(text) }];
}

function userPart(part: Json, at: string, context: RequestContext, calls: CallIds): Part[] {
  const { functionResponse, ...others } = part;
  if (isEmpty(functionResponse)) return contentPart(others, at, context);
  const path = `${at}.functionResponse`;
  const { id: given, name, response, parts } = withPlainNames(objectAt(functionResponse, path));
  const { output, error, ...rest } = isObject(response) ? response : { output: response };
  const only = isEmpty(rest) ? (error ?? output) : undefined;
  const text =
    only === undefined ? JSON.stringify(response) : typeof only === 'string' ? only : JSON.stringify(only);
  const media = eachOptional(parts, `${path}.parts`, (each, where) =>
    contentPart(withPlainNames(each), where, context),
  );
  const result: ResultPart = {
    type: 'result',
    id: calls.result(given, name),
    parts: [{ type: 'text', text: text ?? '' }, ...media.flat()],
    isError: error !== undefined && isEmpty(rest),
  };
  return [result];
}

function contentPart(part: Json, at: string, context: RequestContext): ContentPart[] {
  const { text, inlineData, fileData, thought: _thought, ...others } = part;
  const { thoughtSignature: _signature, mediaResolution, videoMetadata, ...unknown } = others;
  context.refuseRest(unknown, at);
  if (!isEmpty(mediaResolution)) context.leaveOut(`${at}.mediaResolution`);
  if (!isEmpty(videoMetadata)) throw context.cannotExpress(`${at}.videoMetadata`);
  if (!isEmpty(inlineData)) {
    const { mimeType, data, displayName } = withPlainNames(objectAt(inlineData, `${at}.inlineData`));
    const type = asText(mimeType);
    const bytes = standard(textAt(data, `${at}.inlineData.data`));
    if (type.startsWith('audio/'))
      return [{ type: 'audio', at, audio: { data: bytes, format: type.replace(/^audio\/(?:x-)?/, '') } }];
    if (type.startsWith('video/')) throw context.cannotExpress(`${at}.inlineData`, 'there is no video');
    return [media(type, `data:${type};base64,${bytes}`, at, displayName)];
  }
  if (!isEmpty(fileData)) {
    const { mimeType, fileUri, displayName } = withPlainNames(objectAt(fileData, `${at}.fileData`));
    const url = textAt(fileUri, `${at}.fileData.fileUri`);
    if (!/^https?:/.test(url) || OWN_FILE.test(url))
      throw context.cannotExpress(`${at}.fileData`, 'only Google has this file');
    return [media(asText(mimeType ?? 'image/'), url, at, displayName)];
  }
  return isEmpty(text) ? [] : [{ type: 'text', text: asText(text) }];
}

const OWN_FILE = /^https:\/\/(?:generativelanguage\.googleapis\.com|(?:www\.)?youtu(?:\.be|be\.com))\//;

/**
 * Google takes the alphabet of URLs too, and text without its padding, which OpenAI and Anthropic don't:
 * https://protobuf.dev/programming-guides/json/
 */
function standard(base64: string): string {
  const text = base64.replaceAll('-', '+').replaceAll('_', '/');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

function media(type: string, url: string, at: string, name: unknown): ContentPart {
  if (type.startsWith('image/')) return { type: 'image', at, url };
  return { type: 'file', at, url, name: typeof name === 'string' ? name : undefined };
}

function toolFields(
  value: unknown,
  config: unknown,
  context: RequestContext,
): Pick<Conversation, 'tools' | 'choice'> {
  const tools = eachOptional(value, 'tools', (tool, at) => {
    const { functionDeclarations, ...others } = withPlainNames(tool);
    context.refuseRest(others, at);
    return eachOptional(functionDeclarations, `${at}.functionDeclarations`, (declaration) => {
      const { name, description, parameters, parametersJsonSchema } = withPlainNames(declaration);
      return { name: asText(name), description, parameters: parametersJsonSchema ?? jsonSchema(parameters) };
    });
  }).flat();
  return tools.length === 0 ? { tools } : { tools, choice: choiceOf(config, context) };
}

function choiceOf(config: unknown, { leaveOut }: RequestContext): ToolChoice | undefined {
  const { functionCallingConfig } = withPlainNames(optionalObject(config, 'toolConfig'));
  const { mode, allowedFunctionNames: names } = withPlainNames(
    optionalObject(functionCallingConfig, 'toolConfig.functionCallingConfig'),
  );
  const allowed = Array.isArray(names) ? names : [];
  if (allowed.length > 1) leaveOut('toolConfig.functionCallingConfig.allowedFunctionNames');
  switch (asText(mode ?? '').toUpperCase()) {
    case 'AUTO':
      return 'auto';
    case 'NONE':
      return 'none';
    case 'ANY':
      return allowed.length === 1 ? { name: asText(allowed[0]) } : 'any';
    default:
      return undefined;
  }
}

/** Options that an answer can do without. */
// biome-ignore format: they fit a few lines
const OPTIONAL = [
  'topK', 'mediaResolution', 'enableEnhancedCivicAnswers', 'speechConfig', 'audioTimestamp', 'routingConfig',
];

function configFields(
  config: Json,
  context: RequestContext,
): Pick<Conversation, 'maxTokens' | 'temperature' | 'topP' | 'stops' | 'reasoning' | 'format' | 'extra'> {
  const at = 'generationConfig';
  const { maxOutputTokens, temperature, topP, stopSequences, thinkingConfig, ...others } = config;
  const { responseMimeType, responseSchema, responseJsonSchema, ...options } = others;
  const { candidateCount, responseModalities, seed, presencePenalty, frequencyPenalty, ...rest } = options;
  for (const name of OPTIONAL) {
    if (!isEmpty(rest[name])) context.leaveOut(`${at}.${name}`);
    delete rest[name];
  }
  if (rest.responseLogprobs === false) delete rest.responseLogprobs;
  context.refuseRest(rest, at);
  if (!isEmpty(candidateCount) && candidateCount !== 1) throw context.cannotExpress(`${at}.candidateCount`);
  const modalities = isEmpty(responseModalities)
    ? []
    : listAt(responseModalities, `${at}.responseModalities`);
  if (modalities.some((each) => asText(each).toUpperCase() !== 'TEXT'))
    throw context.cannotExpress(`${at}.responseModalities`);
  const penalties = { seed, presence_penalty: presencePenalty, frequency_penalty: frequencyPenalty };
  return {
    maxTokens: numberIn(maxOutputTokens, `${at}.maxOutputTokens`),
    temperature: numberIn(temperature, `${at}.temperature`),
    topP: numberIn(topP, `${at}.topP`),
    stops: isEmpty(stopSequences) ? undefined : listAt(stopSequences, `${at}.stopSequences`).map(asText),
    reasoning: readThinking(isObject(thinkingConfig) ? withPlainNames(thinkingConfig) : undefined),
    format: formatOf(responseMimeType, responseJsonSchema ?? jsonSchema(responseSchema), context),
    extra: Object.fromEntries(Object.entries(penalties).filter(([, value]) => !isEmpty(value))),
  };
}

function formatOf(type: unknown, schema: unknown, { cannotExpress }: RequestContext): Format | undefined {
  if (isEmpty(type) || type === 'text/plain') return undefined;
  if (type !== 'application/json') throw cannotExpress('generationConfig.responseMimeType');
  return isEmpty(schema) ? { type: 'json_object' } : { type: 'json_schema', schema, isStrict: false };
}
