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

const parser = createParser({
  limits: [],
  fields: ['content', 'requests'],
  nonText: GEMINI_MEDIA,
  check(fields) {
    if (fields.find('content') || fields.find('requests')) return;
    throw badRequest(
      '"content" is missing: send the text to embed in it',
      'content',
      'missing_required_parameter',
    );
  },
});

/**
 * Google's embeddings, one (`embedContent`) or several (`batchEmbedContents`): https://ai.google.dev/api/embeddings. As for
 * generation, gw keeps what the path says as members of the body.
 */
export const geminiEmbeddingsWire: Wire = {
  endpoint: 'embedContent',
  family: 'gemini',
  path: '/embedContent',
  pathOf: (request, model) =>
    `/${pathOfModel(model)}:${requestsOf(request) ? 'batchEmbedContents' : 'embedContent'}`,
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

const requestsOf = ({ members }: WireRequest): Member | undefined =>
  members.find(({ key }) => key === 'requests');

/** The models that the requests of a batch name. */
function innerModels(request: WireRequest): Member[] {
  const { bytes } = request;
  const list = requestsOf(request);
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
  },
  options: new Set(['taskType', 'task_type', 'title']),
};

const METADATA = Buffer.from('"usageMetadata"');

/** Older models report none. */
function usageOf(answer: Buffer): unknown {
  if (!answer.includes(METADATA)) return undefined;
  return orNone(() => {
    const member = scanObject(answer).find(({ key }) => key === 'usageMetadata');
    const usage = member && readValue(answer, member);
    if (!isObject(usage)) return undefined;
    // Embeddings name the modalities otherwise than answers do.
    return usageIn({ usageMetadata: { promptTokensDetails: usage.promptTokenDetails, ...usage } });
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
    if (member.key !== 'content' && member.key !== 'requests') continue;
    const value = readValue(bytes, member);
    for (const { content, title } of isObject(value) ? [{ content: value, title: '' }] : objectsIn(value)) {
      if (isObject(content)) addParts(prompt, content.parts);
      if (typeof title === 'string') prompt.texts.push(title);
    }
  }
  return prompt;
}
