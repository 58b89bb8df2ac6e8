import { isObject, objectsIn } from '../../../src/json/object.ts';
import type { Json } from '../../../src/translation/json.ts';
import type { Reply, StrictApi } from './strict.ts';

/** https://ai.google.dev/api/generate-content#request-body: other names are "Unknown name ...: Cannot find field." */
const KNOWN = new Set([
  ...['contents', 'tools', 'toolConfig', 'safetySettings', 'systemInstruction', 'generationConfig'],
  ...['cachedContent', 'labels', 'serviceTier'],
]);
/** https://ai.google.dev/api/generate-content#generationconfig */
const CONFIG = new Set([
  ...['stopSequences', 'responseMimeType', 'responseSchema', 'responseJsonSchema', 'responseModalities'],
  ...['candidateCount', 'maxOutputTokens', 'temperature', 'topP', 'topK', 'seed', 'presencePenalty'],
  ...[
    'frequencyPenalty',
    'responseLogprobs',
    'logprobs',
    'speechConfig',
    'thinkingConfig',
    'mediaResolution',
  ],
]);
/** https://ai.google.dev/api/caching#Part */
const PART = new Set([
  ...['text', 'thought', 'thoughtSignature', 'functionCall', 'functionResponse', 'inlineData', 'fileData'],
]);
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const STAND_IN = 'skip_thought_signature_validator';

/** How a model of Google's differs from Gemini 3. */
export interface GeminiHost {
  /** Models before Gemini 3 give calls no ids, and ask for no signatures. */
  isBefore3?: boolean;
  /** Calls have no ids, as at Vertex AI. */
  hasNoIds?: boolean;
}

/** Gemini's API, by https://ai.google.dev/api/generate-content and .../gemini-api/docs/thought-signatures. */
export function strictGemini({ isBefore3 = false, hasNoIds = isBefore3 }: GeminiHost = {}): StrictApi {
  const kind = { isBefore3, hasNoIds };
  /** The signature that each first call came with, by its arguments. */
  const signed = new Map<string, string>();
  return {
    path: 'enerateContent',
    callOf(path) {
      const [, model = '', action] =
        /\/models\/([^/:]+):(generateContent|streamGenerateContent\?alt=sse)$/.exec(path) ?? [];
      return action ? { model: decodeURIComponent(model), stream: action !== 'generateContent' } : undefined;
    },
    faultOf: (body) => faultOf(body, isBefore3 ? undefined : signed),
    turnsOf: ({ contents }) =>
      joined(objectsIn(contents)).filter(({ parts }) =>
        objectsIn(parts).some(({ functionCall }) => functionCall),
      ).length,
    toolsOf: ({ tools }) =>
      objectsIn(tools).flatMap(({ functionDeclarations }) =>
        objectsIn(functionDeclarations).map(({ name }) => String(name)),
      ),
    resultsOf: ({ contents }) =>
      objectsIn(contents).flatMap(({ parts }) =>
        objectsIn(parts).flatMap(({ functionResponse }) =>
          functionResponse ? [JSON.stringify(functionResponse)] : [],
        ),
      ),
    plain: (reply) => answerOf(reply, partsOf(reply, signed, kind), true),
    stream: (reply) => {
      const parts = partsOf(reply, signed, kind).flatMap(halves);
      const events = parts.map((part, i) => answerOf(reply, [part], i === parts.length - 1));
      return events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join('');
    },
    error: (message, code) => ({ error: { code, message, status: 'INVALID_ARGUMENT' } }),
  };
}

/** A text comes in pieces. */
function halves(part: Json): Json[] {
  const { text } = part;
  if (typeof text !== 'string' || text.length < 2) return [part];
  const at = text.length >> 1;
  return [
    { ...part, text: text.slice(0, at) },
    { ...part, text: text.slice(at) },
  ];
}

function partsOf(
  { reasoning, text, calls, turn }: Reply,
  signed: Map<string, string>,
  { isBefore3, hasNoIds }: Required<GeminiHost>,
): Json[] {
  return [
    { text: reasoning, thought: true },
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ name, args }, i) => {
      const thoughtSignature = Buffer.from(`signature of ${reasoning}`).toString('base64');
      if (i === 0) signed.set(keyOf({ name, args }), thoughtSignature);
      const id = hasNoIds ? {} : { id: `call${turn}.${i}` };
      return { functionCall: { ...id, name, args }, ...(i === 0 && !isBefore3 && { thoughtSignature }) };
    }),
  ];
}

const keyOf = ({ name, args }: Json): string => JSON.stringify([name, args]);

/** Thoughts are beside candidates: https://ai.google.dev/api/generate-content#UsageMetadata */
function answerOf({ model, usage, turn }: Reply, parts: Json[], isLast: boolean): Json {
  const thoughtsTokenCount = Math.min(3, usage.output);
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...(isLast && { finishReason: 'STOP' }) }],
    usageMetadata: {
      promptTokenCount: usage.input,
      ...(isLast && { candidatesTokenCount: usage.output - thoughtsTokenCount, thoughtsTokenCount }),
      totalTokenCount: usage.input + (isLast ? usage.output : 0),
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: usage.input }],
    },
    modelVersion: model,
    responseId: `response-${turn}`,
  };
}

function faultOf(body: Json, signed: ReadonlyMap<string, string> | undefined): string | undefined {
  const { generationConfig: config = {}, contents, systemInstruction } = body;
  const unknown =
    Object.keys(body).find((key) => !KNOWN.has(key)) ??
    Object.keys(config as Json).find((key) => !CONFIG.has(key));
  if (unknown !== undefined) return `Unknown name "${unknown}": Cannot find field.`;
  const { stopSequences, maxOutputTokens } = config as Json;
  if (Array.isArray(stopSequences) && stopSequences.length > 5) return 'too many stop sequences';
  if (maxOutputTokens !== undefined && !(Number(maxOutputTokens) >= 1))
    return 'max_output_tokens must be positive';
  if (isObject(systemInstruction) && !objectsIn(systemInstruction.parts).every(({ text }) => text))
    return 'system_instruction must have text';
  return toolFault(body) ?? contentsFault(objectsIn(contents), signed);
}

function toolFault({ tools, toolConfig }: Json): string | undefined {
  const declared = objectsIn(tools).flatMap((tool) => objectsIn(tool.functionDeclarations));
  for (const { name, parameters, parametersJsonSchema } of declared) {
    if (!NAME.test(String(name))) return `Invalid function name ${name}`;
    if (parameters !== undefined && parametersJsonSchema !== undefined)
      return 'parameters and parameters_json_schema are mutually exclusive';
    if (
      parameters !== undefined &&
      /"(\$\w+|additionalProperties|const|oneOf)"/.test(JSON.stringify(parameters))
    )
      return 'Unknown name at parameters: Cannot find field.';
  }
  const choice = isObject(toolConfig) ? toolConfig.functionCallingConfig : undefined;
  const { allowedFunctionNames = [], mode } = isObject(choice) ? choice : {};
  const names = declared.map(({ name }) => name);
  if (Array.isArray(allowedFunctionNames) && !allowedFunctionNames.every((name) => names.includes(name)))
    return 'allowed_function_names must be a subset of the declared ones';
  return mode !== undefined && declared.length === 0
    ? 'Function calling config is set without tools'
    : undefined;
}

function contentsFault(
  contents: readonly Json[],
  signed: ReadonlyMap<string, string> | undefined,
): string | undefined {
  if (contents.length === 0) return 'contents is not specified';
  return turnsFault(joined(contents), signed);
}

/** Contents of one role one after the other are one: Google's own clients keep one of each event. */
function joined(contents: readonly Json[]): Json[] {
  const turns: Json[] = [];
  for (const { role, parts, ...rest } of contents) {
    const last = turns.at(-1);
    const answers = objectsIn(last?.parts).some(({ functionResponse }) => functionResponse);
    if (last && last.role === role && !answers) last.parts = [...objectsIn(last.parts), ...objectsIn(parts)];
    else turns.push({ ...rest, role, parts });
  }
  return turns;
}

function turnsFault(
  contents: readonly Json[],
  signed: ReadonlyMap<string, string> | undefined,
): string | undefined {
  for (const [i, { role, parts: list }] of contents.entries()) {
    const parts = objectsIn(list);
    if (role !== 'user' && role !== 'model') return 'Please use a valid role: user, model.';
    if (parts.length === 0) return `contents[${i}].parts must not be empty`;
    const odd = parts.flatMap((part) => Object.keys(part)).find((key) => !PART.has(key));
    if (odd !== undefined) return `Unknown name "${odd}" at contents[${i}].parts`;
    if (
      parts.some(({ text, functionCall, functionResponse, inlineData, fileData }) =>
        [text, functionCall, functionResponse, inlineData, fileData].every(
          (each) => each === undefined || (each === '' && role === 'user'),
        ),
      )
    )
      return `contents[${i}].parts: required oneof field 'data' must have one initialized field`;
    const fault = callsFault(contents, i, signed);
    if (fault) return fault;
  }
  return undefined;
}

/** Results are right behind their calls, as many as those, and of their names and ids; the first call is signed. */
function callsFault(
  contents: readonly Json[],
  i: number,
  signed: ReadonlyMap<string, string> | undefined,
): string | undefined {
  const partsAt = (at: number) => objectsIn(contents[at]?.parts);
  const called = partsAt(i).flatMap(({ functionCall }) => objectsIn([functionCall]));
  const results = partsAt(i + 1).flatMap(({ functionResponse }) => objectsIn([functionResponse]));
  if (called.length !== results.length)
    return 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
  const before = i > 0 && partsAt(i - 1).some(({ functionCall }) => functionCall);
  if (!before && partsAt(i).some(({ functionResponse }) => functionResponse))
    return 'Please ensure that function response turn comes immediately after a function call turn.';
  if (called.some(({ name, id }, at) => results[at]?.name !== name || results[at]?.id !== id))
    return 'function responses must have the names and ids of their calls';
  if (results.some(({ response }) => !isObject(response)))
    return 'function_response.response must be an object';
  const [first] = called;
  if (!signed || !first) return undefined;
  const signature = partsAt(i).find(({ functionCall }) => functionCall)?.thoughtSignature;
  const own = signed.get(keyOf(first));
  if (own === undefined && signature === STAND_IN) return undefined;
  return signature === own ? undefined : `Function call ${first.name} is missing a thought_signature`;
}
