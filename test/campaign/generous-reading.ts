import { fieldValue, readBodies } from './generous-body.ts';
import { isLooseObject, type Loose, type LooseObject } from './generous-json.ts';
import { baseName, PRICES } from './price-list.ts';

/** A call as a provider receives it. */
export interface Call {
  method: string;
  target: string;
  /** Names in small letters. */
  headers: [name: string, value: string][];
  body: Buffer;
}

/** The most that can be read into a call. */
export interface Reading {
  method: string;
  /** Without `/v1`, as the most lenient of servers routes by it. */
  path: string;
  models: string[];
  /** What tools work with, beside the model that answers. */
  toolModels: string[];
  stream: boolean;
  outputTokens: number | undefined;
  reasoningTokens: number;
  choices: number;
  /** Of what a model reads, in bytes. */
  text: number;
  images: number;
  documents: number;
  /** What the provider stores and the call refers to. */
  stored: number;
  /** Types of tools that the provider runs, with their limits. */
  tools: { type: string; times: number | undefined }[];
  maxToolCalls: number | undefined;
  /** Fields and headers that choose something else: a payer, a host, an agent, a preset. */
  odd: string[];
  tierFactor: number;
}

/** Decodes, cuts and resolves a path in every way that servers do before they route by it. */
export function readPath(target: string): string {
  let path = (target.split('?')[0] ?? '').replace(/^https?:\/\/[^/]*/i, '');
  for (let i = 0; i < 3; i++)
    path = path.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  const segments: string[] = [];
  for (const raw of path.replaceAll('\\', '/').toLowerCase().split('/')) {
    const segment = raw.replace(/[;\0#?].*$/s, '').trim();
    if (segment === '..') segments.pop();
    else if (segment.replace(/\.+$/, '') !== '') segments.push(segment.replace(/\.+$/, ''));
  }
  while (/^v1(beta)?$/.test(segments[0] ?? '')) segments.shift();
  return `/${segments.join('/')}`;
}

export function readGenerously({ method, target, headers, body }: Call): Reading {
  const reading: Reading = {
    method,
    path: readPath(target),
    models: [],
    toolModels: [],
    stream: false,
    outputTokens: undefined,
    reasoningTokens: 0,
    choices: 1,
    text: 0,
    images: 0,
    documents: 0,
    stored: 0,
    tools: [],
    maxToolCalls: undefined,
    odd: [],
    tierFactor: 1,
  };
  for (const [name, value] of headers) readHeader(reading, name, value);
  const query = [...new URLSearchParams((target.split('?')[1] ?? '').replaceAll(';', '&'))];
  const inQuery: LooseObject = { entries: query.map(([name, value]) => [name, fieldValue(value)]) };
  for (const object of [...readBodies(body, headers), inQuery]) readObject(reading, object, 0);
  return reading;
}

const OTHER_PAYER =
  /^(openai-(organization|project)|x-goog-user-project|x-(original|rewrite)-url|x-forwarded-(host|prefix)|helicone-|x-portkey-|x-litellm-|cf-aig-|x-account|x-tenant)/;

function readHeader(reading: Reading, name: string, value: string): void {
  if (/^x-(http-)?method(-override)?$/.test(name)) reading.method = value.toUpperCase();
  if (OTHER_PAYER.test(name)) reading.odd.push(name);
  if (/(^|-)models?$/.test(name)) reading.models.push(value);
}

/** A name as servers that ignore case, lines and what doesn't belong into a name read it. */
const plainName = (key: string): string =>
  key
    .normalize('NFKC')
    .toUpperCase()
    .toLowerCase()
    .replace(/\0.*$/s, '')
    .replace(/[^a-z\d]/g, '');

/** Texts and data of the user, in which a provider looks for no model and no limit. */
const CONTENT =
  /^(messages|content|input|prompt|system|instructions|metadata|clientmetadata|litellmmetadata|user|stop|text|parameters|inputschema|jsonschema|schema|function|arguments|properties|description|name|suffix|safetyidentifier|promptcachekey)$/;
const MODEL = /models?(id|ids|name|names)?$|^fallbacks?$/;
const ANY_LIMIT = /^max(completion|output|new)?tokens$/;
const HIDDEN = /^(agent|agentid|assistantid|preset|workflowid|promptid|deployment|deploymentid)$/;
const STORED = /^(previousresponseid|conversation|conversationid|inputfileid|fileids?|container|thread)$/;
const KNOWN = new Set(Object.keys(PRICES).filter((name) => name.includes('-')));

/** The fields of each API that a model reads, by the end of its path; all of them for an API that no list has. */
const PROMPTS: readonly [path: RegExp, names: RegExp][] = [
  [/\/chat\/completions$|^\/complete$/, /^messages$/],
  [/\/completions$/, /^(prompt|suffix|messages)$/],
  [/\/messages$/, /^(system|messages)$/],
  [/\/responses(\/compact)?$/, /^(input|instructions)$/],
  [/\/embeddings$/, /^input$/],
];
/** Limits of the output, by API. */
const LIMITS: readonly [path: RegExp, names: RegExp][] = [
  [/\/responses(\/compact)?$/, /^maxoutputtokens$/],
  [/\/messages$/, /^maxtokens$/],
  [/\/(chat\/)?completions$|^\/complete$/, /^max(completion)?tokens$/],
];
const namesAt = (table: readonly [RegExp, RegExp][], path: string, otherwise: RegExp): RegExp =>
  table.find(([end]) => end.test(path))?.[1] ?? otherwise;

function readObject(reading: Reading, object: LooseObject, depth: number): void {
  const { path } = reading;
  const prompt = namesAt(PROMPTS, path, CONTENT);
  const limit = namesAt(LIMITS, path, ANY_LIMIT);
  for (const [name, value] of object.entries) {
    const key = plainName(name);
    if (value === null || value === '' || value === false) continue;
    if (MODEL.test(key)) collectModels(reading, value);
    else if (HIDDEN.test(key)) reading.odd.push(name);
    else if (limit.test(key)) reading.outputTokens = largest(reading.outputTokens, value);
    else if (!/embeddings$/.test(path)) readOption(reading, key, value);
    if (typeof value === 'string' && KNOWN.has(baseName(value)) && !CONTENT.test(key))
      reading.models.push(value);
    if (STORED.test(key)) reading.stored++;
    if (prompt.test(key)) readContent(reading, value);
    else if (!CONTENT.test(key) && !MODEL.test(key) && key !== 'tools' && depth < 64)
      readNested(reading, value, depth);
  }
}

function readOption(reading: Reading, key: string, value: Loose): void {
  const { path } = reading;
  switch (key) {
    case 'n':
    case 'bestof':
      reading.choices = Math.max(reading.choices, largest(undefined, value) ?? 1);
      break;
    case 'stream':
      reading.stream ||= value === true || value === 'true';
      break;
    case 'maxtoolcalls':
      if (/responses/.test(path)) reading.maxToolCalls = largest(reading.maxToolCalls, value);
      break;
    case 'servicetier':
    case 'speed':
      reading.tierFactor *= FACTORS[String(value)] ?? 100;
      break;
    case 'budgettokens':
      reading.reasoningTokens = largest(reading.reasoningTokens, value) ?? 0;
      break;
    case 'background':
      if (value === true && /responses$/.test(path)) reading.odd.push(key);
      break;
    case 'prompt':
      if (isLooseObject(value) && /responses$/.test(path)) reading.odd.push(key);
      if (Array.isArray(value) && typeof value[0] !== 'number' && /[^t]\/completions$/.test(path))
        reading.choices *= Math.max(1, value.length);
      break;
    case 'plugins':
    case 'websearchoptions':
      if (key === 'plugins' || /completions$/.test(path)) reading.tools.push({ type: key, times: undefined });
      break;
    case 'tools':
      readTools(reading, value);
      break;
  }
}

function readNested(reading: Reading, value: Loose, depth: number): void {
  for (const each of Array.isArray(value) ? value : [value]) {
    if (isLooseObject(each)) readObject(reading, each, depth + 1);
    else if (typeof each === 'string' && KNOWN.has(baseName(each))) reading.models.push(each);
  }
}

const FACTORS: Readonly<Record<string, number>> = {
  ...{ auto: 1, default: 1, flex: 1, standard: 1, standard_only: 1 },
  ...{ priority: 2.5, fast: 2.5, ultrafast: 6 },
};

function largest(before: number | undefined, value: Loose): number | undefined {
  const number = Number(value);
  return Number.isFinite(number) && number > 0 ? Math.max(before ?? 0, Math.ceil(number)) : before;
}

function collectModels(reading: Reading, value: Loose): void {
  if (typeof value === 'string') reading.models.push(value);
  else if (Array.isArray(value)) for (const each of value) collectModels(reading, each);
  else if (isLooseObject(value)) for (const [, each] of value.entries) collectModels(reading, each);
}

/** Tools that the client runs. */
const CLIENT_TOOL = /^(function|custom|bash_\d+|text_editor_\d+|computer|local_shell)$/;

function readTools(reading: Reading, list: Loose): void {
  for (const tool of Array.isArray(list) ? list : [list]) {
    if (!isLooseObject(tool)) continue;
    const members = new Map(tool.entries.map(([key, value]) => [plainName(key), value]));
    const type = members.get('type');
    const isClients =
      type === undefined
        ? members.has('inputschema') || members.has('function')
        : CLIENT_TOOL.test(String(type));
    if (!isClients)
      reading.tools.push({ type: String(type), times: largest(undefined, members.get('maxuses') ?? 0) });
    const model = members.get('model');
    if (!isClients && typeof model === 'string') reading.toolModels.push(model);
  }
}

/** What a prompt has besides text, and tools within its items. */
function readContent(reading: Reading, value: Loose, isText = true): void {
  if (typeof value === 'string') reading.text += isText ? value.length : 0;
  else if (Array.isArray(value)) for (const each of value) readContent(reading, each, isText);
  else if (isLooseObject(value)) {
    for (const [name, inner] of value.entries) {
      const key = plainName(name);
      if (key === 'type' && /^(image|image_url|input_image)$/.test(String(inner))) reading.images++;
      if (key === 'type' && /^(file|document|input_file)$/.test(String(inner))) reading.documents++;
      if (key === 'type' && String(inner) === 'item_reference') reading.stored++;
      if (key === 'tools') readTools(reading, inner);
      readContent(reading, inner, /^(text|content|input)$/.test(key));
    }
  }
}
