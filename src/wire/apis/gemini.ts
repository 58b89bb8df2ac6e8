import { badRequest } from '../../errors.ts';
import { COMMA, OPEN_BRACE } from '../../json/bytes.ts';
import { applyEdits, type Edit, insertMember, moved, replaceValue } from '../../json/edit.ts';
import { isObject, objectsIn } from '../../json/object.ts';
import { type Member, readValue, scanObject } from '../../json/scan.ts';
import { checkList } from '../request/fields.ts';
import { spellings } from '../request/gemini-body.ts';
import { createParser } from '../request/parse.ts';
import { findUnseen, splitPrompt } from '../request/prompt-blocks.ts';
import type { BodyScan } from '../request/scan/body-scan.ts';
import type { Prompt, WireRequest } from '../request/wire-request.ts';
import type { Wire } from '../wire.ts';
import { geminiAnswers } from './gemini-answers.ts';
import { GEMINI_BLOCKS } from './gemini-blocks.ts';

/** Parts that may be more than text. */
export const GEMINI_MEDIA = { images: ['inlineData', 'inline_data'], context: ['fileData', 'file_data'] };

const parser = createParser({
  limits: [],
  fields: ['contents', 'generationConfig', 'serviceTier'],
  check: (fields, bytes) => checkList(bytes, fields, 'contents', 'send the conversation in it'),
  nonText: GEMINI_MEDIA,
  stored: ['cachedContent'],
  tools: { limit: 'none', isKeyed: true },
});

/**
 * Google's Gemini API: https://ai.google.dev/api/generate-content. The path names the model and says whether the answer
 * is a stream. gw keeps both as members of the body (`withCall`), and leaves them out of what it sends.
 */
export const geminiWire: Wire = {
  endpoint: 'gemini',
  family: 'gemini',
  path: '/generateContent',
  pathOf: ({ stream }, model) =>
    `/${pathOfModel(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  scan: parser.scan,
  parse,
  renameModel: () => [],
  limitOutput: (request, tokens) => limitEdits(request, tokens),
  ...geminiAnswers,
  unseenIn: (request) => findUnseen(request, GEMINI_BLOCKS),
  blocksOf: (request, earlier) => splitPrompt(request, GEMINI_BLOCKS, earlier),
  promptOf,
  form: 'gemini',
  messagesOf: ({ members }) => members.find(({ key }) => key === 'contents'),
};

/** Tuned models have a collection of their own. No other character of a name has a meaning in the path. */
export function pathOfModel(name: string): string {
  const [, collection = 'models', id = name] = /^(models|tunedModels)\/(.+)$/.exec(name) ?? [];
  return `${collection}/${encodeURIComponent(id)}`;
}

function parse(bytes: Buffer, scan?: BodyScan): WireRequest {
  const request = parser.parse(bytes, scan);
  const edits = spellings(bytes, request.members);
  if (edits.length > 0) return parse(applyEdits(bytes, edits));

  return {
    ...request,
    ...limitsIn(configMembers(request)),
    surcharges: withTier(request),
    edits: [...request.edits, ...withoutCall(request)],
  };
}

/** The edit that removes what `withCall` has added. */
export function withoutCall({ bytes, members }: WireRequest): Edit[] {
  const [model, stream] = members;
  if (model?.key !== 'model' || stream?.key !== 'stream') throw new Error('the call is gone');
  return [{ start: model.keyStart, end: stream.end + (bytes[stream.end] === COMMA ? 1 : 0), text: '' }];
}

interface Config {
  bytes: Buffer;
  members: Member[];
  /** Where the members' object stands in the body. */
  start: number;
}

/** The options of generation. Throws GwError 400 for a value that is no object. */
function configMembers({ bytes, members }: Pick<WireRequest, 'bytes' | 'members'>): Config {
  const config = members.find(({ key }) => key === 'generationConfig');
  const isNull = config && readNull(bytes, config);
  if (!config || isNull) return { bytes, members: [], start: 0 };
  if (bytes[config.start] !== OPEN_BRACE)
    throw badRequest('"generationConfig" must be an object', 'generationConfig', 'invalid_type');
  const text = bytes.subarray(config.start, config.end);
  return { bytes: text, members: scanObject(text), start: config.start };
}

const readNull = (bytes: Buffer, { start, end }: Member): boolean =>
  bytes.toString('latin1', start, end) === 'null';

/** The most that Google's API takes as a count of answers is 8. */
const MAX_CHOICES = 8;
const MAX_TOKENS = 100_000_000;

/** Thinking is within the output limit: https://ai.google.dev/gemini-api/docs/thinking */
function limitsIn({ bytes, members }: Config): Pick<WireRequest, 'maxOutputTokens' | 'choices'> {
  const read = (name: string, most: number): number | undefined => {
    const found = members.filter(({ key }) => key === name);
    const param = `generationConfig.${name}`;
    if (found.length > 1)
      throw badRequest(`"${param}" appears twice in the body: remove one`, param, 'duplicate_parameter');
    const value = found[0] && readValue(bytes, found[0]);
    if (value === undefined || value === null) return undefined;
    const number = Number(value);
    // Google takes numbers as texts, too.
    if (Number.isInteger(number) && number >= 1 && number <= most && !isObject(value)) return number;
    throw badRequest(`"${param}" must be a whole number from 1 to ${most}`, param, 'invalid_type');
  };
  return {
    maxOutputTokens: read('maxOutputTokens', MAX_TOKENS),
    choices: read('candidateCount', MAX_CHOICES) ?? 1,
  };
}

function limitEdits(request: WireRequest, tokens: number): Edit[] {
  const { members } = request;
  const config = members.find(({ key }) => key === 'generationConfig');
  const inner = configMembers(request);
  const limit = inner.members.find(({ key }) => key === 'maxOutputTokens');
  const field = 'maxOutputTokens';
  if (!config) return [insertMember(members.filter(isSent), 'generationConfig', `{"${field}":${tokens}}`)];
  if (inner.members.length === 0) return [replaceValue(config, `{"${field}":${tokens}}`)];
  const edit = limit
    ? replaceValue(limit, String(tokens))
    : insertMember(inner.members, field, String(tokens));
  const isBelow = limit && Number(readValue(inner.bytes, limit) ?? Number.POSITIVE_INFINITY) <= tokens;
  return isBelow ? [] : [moved(edit, inner.start)];
}

const isSent = ({ key }: Member): boolean => key !== 'model' && key !== 'stream' && key !== 'service';

/** Tiers at the list price or below. */
const LISTED = /^(?:service_tier_)?(?:unspecified|standard|flex)$/i;

/** The price of another tier is unknown. */
function withTier({ bytes, members, surcharges }: WireRequest): WireRequest['surcharges'] {
  const tier = members.find(({ key }) => key === 'serviceTier');
  const value = tier && readValue(bytes, tier);
  if (value === undefined || value === null || LISTED.test(String(value))) return surcharges;
  return { terms: {}, fallbacks: [], ...surcharges, unknown: surcharges?.unknown ?? 'serviceTier' };
}

/** The input as the model reads it. */
function promptOf({ bytes, members, serverTools }: WireRequest): Prompt {
  const nonText = { images: 0, context: serverTools !== undefined };
  const prompt: Prompt = { texts: [], items: 0, tokens: 0, nonText, inlineBytes: 0 };
  for (const member of members) {
    const { key, start, end } = member;
    if (key === 'contents')
      for (const { parts } of objectsIn(readValue(bytes, member))) addParts(prompt, parts);
    else if (key === 'cachedContent') nonText.context = true;
    else if (key === 'systemInstruction' || key === 'tools') {
      prompt.items++;
      prompt.texts.push(bytes.toString('utf8', start, end));
    }
  }
  return prompt;
}

/** Adds the parts of a content. */
export function addParts(prompt: Prompt, parts: unknown): void {
  for (const part of isObject(parts) ? [parts] : objectsIn(parts)) {
    prompt.items++;
    const media = part.inlineData ?? part.inline_data;
    if (typeof part.text === 'string') prompt.texts.push(part.text);
    else if (!isObject(media)) {
      prompt.texts.push(JSON.stringify(part));
      prompt.nonText.context ||= (part.fileData ?? part.file_data) !== undefined;
    } else if (/^image\//.test(String(media.mimeType ?? media.mime_type))) {
      prompt.nonText.images++;
      prompt.inlineBytes += typeof media.data === 'string' ? media.data.length : 0;
    } else prompt.nonText.context = true;
  }
}
