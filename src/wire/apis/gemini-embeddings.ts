import { badRequest } from '../../errors.ts';
import { OPEN_BRACE, OPEN_BRACKET } from '../../json/bytes.ts';
import { applyEdits, removeMember, replaceValue } from '../../json/edit.ts';
import { isObject, objectsIn } from '../../json/object.ts';
import { JsonSyntaxError, type Member, readValue, scanObject } from '../../json/scan.ts';
import { readMembers, stringAt, walkArray } from '../../json/walk.ts';
import { type GeminiCall, withCall } from '../request/gemini-body.ts';
import { modelsIn } from '../request/named-models.ts';
import { createParser } from '../request/parse.ts';
import { type BlockReader, checkMembers, findUnseen, type KnownMembers } from '../request/prompt-blocks.ts';
import type { BodyScan } from '../request/scan/body-scan.ts';
import type { Prompt, WireRequest } from '../request/wire-request.ts';
import type { Wire } from '../wire.ts';
import { addParts, GEMINI_MEDIA, pathOfModel, withoutCall } from './gemini.ts';
import { usageIn } from './gemini-answers.ts';
import { addContent } from './gemini-blocks.ts';

const INPUT_FIELDS: ReadonlySet<string> = new Set(['content', 'requests', 'instances']);

const parser = createParser({
  limits: [],
  fields: [...INPUT_FIELDS],
  nonText: GEMINI_MEDIA,
  check(fields) {
    if ([...INPUT_FIELDS].some((name) => fields.find(name))) return;
    throw badRequest(
      '"content" is missing: send the text to embed in it',
      'content',
      'missing_required_parameter',
    );
  },
});

/**
 * Google's embeddings, one (`embedContent`) or several (`batchEmbedContents`): https://ai.google.dev/api/embeddings; and
 * those of Vertex AI's older models (`predict`):
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api. As for generation, gw
 * keeps what the path says as members of the body.
 */
export const geminiEmbeddingsWire: Wire = {
  endpoint: 'embedContent',
  family: 'gemini',
  path: '/embedContent',
  pathOf: (request, model) => `/${pathOfModel(model)}:${methodOf(request)}`,
  scan: parser.scan,
  parse,
  renameModel: (request, model) =>
    innerModels(request).map((name) => replaceValue(name, JSON.stringify(pathOfModel(model)))),
  limitOutput: () => [],
  usageOf,
  inspect: (events) => ({ pass: events }),
  textOf: () => [],
  unseenIn: (request) => findUnseen(request, INPUTS),
  promptOf,
};

/** The body with its call. A model that it names itself has to be that of the path. */
export function withEmbedCall(body: Buffer, call: GeminiCall): Buffer {
  const members = body[0] === OPEN_BRACE ? (orNone(() => scanObject(body)) ?? []) : [];
  const own = members.find(({ key }) => key === 'model');
  if (!own) return withCall(body, call);
  mustName(body, own, call.model);
  return withCall(applyEdits(body, [removeMember(members, own)]), call);
}

function orNone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

const plainModel = (name: string): string => name.replace(/^models\//, '');

function mustName(bytes: Buffer, member: Member, model: string): void {
  const name = stringAt(bytes, member);
  if (name !== undefined && plainModel(name) === model) return;
  throw badRequest(
    `the body names the model ${JSON.stringify(name ?? null).slice(0, 64)}, and the address ${model}: name one of them`,
    'model',
    'ambiguous_parameter',
  );
}

function parse(bytes: Buffer, scan?: BodyScan): WireRequest {
  const request = parser.parse(bytes, scan);
  const { model, members, surcharges } = request;
  for (const name of innerModels(request)) mustName(bytes, name, model);
  return {
    ...request,
    // The requests of a batch name the same model.
    ...(surcharges && {
      surcharges: {
        ...surcharges,
        fallbacks: surcharges.fallbacks.filter((name) => plainModel(name) !== model),
      },
    }),
    named() {
      const { names, hidden } = modelsIn(bytes, members);
      return { names: names.map(plainModel), hidden };
    },
    maxOutputTokens: 0,
    limitable: false,
    stream: false,
    edits: [...request.edits, ...withoutCall(request)],
  };
}

const memberOf = ({ members }: WireRequest, name: string): Member | undefined =>
  members.find(({ key }) => key === name);

function methodOf(request: WireRequest): string {
  if (memberOf(request, 'instances')) return 'predict';
  return memberOf(request, 'requests') ? 'batchEmbedContents' : 'embedContent';
}

/** The models that the requests of a batch name. */
function innerModels(request: WireRequest): Member[] {
  const { bytes } = request;
  const list = memberOf(request, 'requests');
  const models: Member[] = [];
  if (list && bytes[list.start] === OPEN_BRACKET)
    walkArray(bytes, list.start, (start) => {
      const members: Member[] = [];
      const end = readMembers(bytes, start, members);
      models.push(...members.filter(({ key }) => key === 'model'));
      return end;
    });
  return models;
}

const REQUEST: KnownMembers = {
  texts: new Set(['model', 'taskType', 'task_type', 'title']),
  json: new Set(['content']),
};

const INSTANCE: KnownMembers = {
  texts: new Set(['content', 'title', 'task_type', 'taskType']),
  json: new Set(),
};

const INPUTS = {
  fields: {
    content: (reader: BlockReader, { start }: Member) => void addContent(reader, start),
    requests: (reader: BlockReader, { start: list }: Member) =>
      void walkArray(reader.bytes, list, (start) => {
        const members: Member[] = [];
        const end = readMembers(reader.bytes, start, members);
        checkMembers(reader.bytes, members, REQUEST, 'a request');
        for (const { key, start: at } of members) if (key === 'content') addContent(reader, at);
        return end;
      }),
    instances: (reader: BlockReader, { start: list }: Member) =>
      void walkArray(reader.bytes, list, (start) => {
        const members: Member[] = [];
        const end = readMembers(reader.bytes, start, members);
        checkMembers(reader.bytes, members, INSTANCE, 'an instance');
        return end;
      }),
  },
  options: new Set(['taskType', 'task_type', 'title', 'parameters', 'embedContentConfig']),
};

const METADATA = Buffer.from('"usageMetadata"');
const PREDICTIONS = Buffer.from('"predictions"');

/** Older models report none. */
function usageOf(answer: Buffer): unknown {
  if (answer.includes(PREDICTIONS)) return predictedUsage(answer);
  if (!answer.includes(METADATA)) return undefined;
  return orNone(() => {
    const member = scanObject(answer).find(({ key }) => key === 'usageMetadata');
    const usage = member && readValue(answer, member);
    if (!isObject(usage)) return undefined;
    // Embeddings name the modalities otherwise than answers do.
    return usageIn({ usageMetadata: { promptTokensDetails: usage.promptTokenDetails, ...usage } });
  });
}

/** The tokens of each text beside its vector, if all have them. */
function predictedUsage(answer: Buffer): unknown {
  return orNone(() => {
    const list = scanObject(answer).find(({ key }) => key === 'predictions');
    const counts = objectsIn(list && readValue(answer, list)).map(({ embeddings }) => {
      const statistics = isObject(embeddings) ? embeddings.statistics : undefined;
      return isObject(statistics) ? Number(statistics.token_count) : Number.NaN;
    });
    const promptTokenCount = counts.reduce((sum, count) => sum + count, 0);
    return promptTokenCount > 0 ? usageIn({ usageMetadata: { promptTokenCount } }) : undefined;
  });
}

function promptOf({ bytes, members }: WireRequest): Prompt {
  const prompt: Prompt = {
    texts: [],
    items: 0,
    tokens: 0,
    nonText: { images: 0, context: false },
    inlineBytes: 0,
  };
  for (const member of members) {
    if (member.key === 'title') prompt.texts.push(stringAt(bytes, member) ?? '');
    if (!INPUT_FIELDS.has(member.key)) continue;
    const value = readValue(bytes, member);
    for (const { content, title } of isObject(value) ? [{ content: value, title: '' }] : objectsIn(value)) {
      if (isObject(content)) addParts(prompt, content.parts);
      if (typeof content === 'string') prompt.texts.push(content);
      if (typeof title === 'string') prompt.texts.push(title);
    }
  }
  return prompt;
}
