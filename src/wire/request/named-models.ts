import { plainName } from '../../json/plain-name.ts';
import { JsonSyntaxError, type Member, skipValue } from '../../json/scan.ts';
import { stringAt, walkArray, walkObject } from '../../json/walk.ts';
import { makerOf } from '../../providers/makers.ts';
import type { FormField } from './form.ts';

/** The models that a request lets answer. */
export interface NamedModels {
  names: string[];
  /** A field that chooses models which the request doesn't name, such as an agent; undefined without one. */
  hidden: string | undefined;
}

/** What holds texts and data of users, tools and their schemas, where a name chooses nothing. */
// biome-ignore format: they fit a few lines
const CONTENT = new Set([
  'anthropic_beta', 'arguments', 'betas', 'client_metadata', 'content', 'contents', 'description', 'input',
  'input_schema', 'inputs', 'instructions', 'json_schema', 'messages', 'metadata', 'parameters', 'prompt',
  'prompt_cache_key', 'properties', 'safety_identifier', 'schema', 'service', 'stop', 'suffix', 'system', 'text',
  'texts', 'title', 'tool_resources', 'user',
]);
/**
 * What stands for a model, or requests, that are stored elsewhere: agents and workflows (Mistral, OpenAI), presets
 * (OpenRouter), assistants, files of requests; another host or account of a proxy's (LiteLLM). Plain names.
 */
// biome-ignore format: they fit a few lines
const HIDDEN = new Set([
  'agent', 'agentid', 'apibase', 'assistant', 'assistantid', 'baseurl', 'deployment', 'deploymentid', 'evalid',
  'inputfile', 'inputfileid', 'inputfiles', 'litellmcredentialname', 'litellmparams', 'litellmparamstemplate',
  'modellist', 'preset', 'promptid', 'workflow', 'workflowid',
]);
/**
 * Plain names of members whose texts are models: `model`, `models`, `fallback_models`, `graderModel`, `fallbacks`, and what
 * is in them.
 */
const MODEL = /models?(?:id|name|ids|names)?$|^fallbacks?$/;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const START_OF_NULL = 0x6e;
/** Objects nest no deeper than this in any request of a provider's document. */
const MAX_DEPTH = 32;

/** Names that can only be models, wherever they stand. */
const isModelName = (text: string): boolean => makerOf(text) !== undefined;

/** The models that the members of a JSON body name, at any depth outside of content, under each of equal names. */
export function modelsIn(bytes: Buffer, members: readonly Member[]): NamedModels {
  const found: NamedModels = { names: [], hidden: undefined };
  for (const { key, start } of members) {
    // A stored prompt of OpenAI's is an object, and may choose a model.
    if (key === 'prompt' && bytes[start] === OPEN_BRACE) found.hidden ??= 'prompt';
    if (!CONTENT.has(key)) visitMember(bytes, start, key, found);
  }
  return found;
}

/**
 * Fields of the APIs that choose no model: names, numbers, and lists of tools. What has options is looked through, which
 * takes a microsecond.
 */
// biome-ignore format: they fit a few lines
const KNOWN = new Set([
  'dimensions', 'encoding_format', 'frequency_penalty', 'functions', 'function_call', 'include', 'logit_bias',
  'logprobs', 'max_completion_tokens', 'max_output_tokens', 'max_tokens', 'max_tool_calls', 'mcp_servers',
  'modalities', 'model', 'n', 'parallel_tool_calls', 'presence_penalty', 'previous_response_id', 'prompt',
  'prompt_cache_retention', 'reasoning_effort', 'seed', 'service_tier', 'speed', 'stop_sequences', 'store', 'stream',
  'temperature', 'tools', 'top_k', 'top_logprobs', 'top_p', 'truncation', 'verbosity',
]);

/** The models that may answer besides the one in `model`, named by the fields that an API has for that or gw doesn't know. */
export function otherModelsIn(bytes: Buffer, members: readonly Member[]): NamedModels {
  const unusual = members.filter(({ key }) => !KNOWN.has(key));
  return unusual.length === 0 ? NONE : modelsIn(bytes, unusual);
}

const NONE: NamedModels = { names: [], hidden: undefined };

/** The models that the fields of a form name. */
export function modelsInForm(bytes: Buffer, fields: readonly FormField[]): NamedModels {
  const found: NamedModels = { names: [], hidden: undefined };
  for (const { name, isFile, start, end } of fields) {
    const key = name.replace(/\[\]$/, '');
    // A server may read a small file as a field.
    if (isFile && (MODEL.test(plainName(key)) || HIDDEN.has(plainName(key)))) found.hidden ??= key;
    else if (!isFile && !CONTENT.has(key)) {
      if (HIDDEN.has(plainName(key))) found.hidden ??= key;
      const isModel = MODEL.test(plainName(key));
      noteText(bytes.toString('utf8', start, end), key, { found, isModel, depth: 0 });
    }
  }
  return found;
}

function visitMember(bytes: Buffer, start: number, key: string, found: NamedModels): void {
  try {
    visit(bytes, start, key, { found, isModel: false, depth: 0 });
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    // A lenient parser may read a bad escape as anything.
    found.hidden ??= key;
  }
}

interface Place {
  found: NamedModels;
  /** Within a member that names models. */
  isModel: boolean;
  depth: number;
}

/** Visits the value at `start`. Returns its end. */
function visit(bytes: Buffer, start: number, key: string, { found, isModel, depth }: Place): number {
  const end = skipValue(bytes, start);
  const names = isModel || MODEL.test(plainName(key));
  if (bytes[start] === START_OF_NULL) return end;
  if (HIDDEN.has(plainName(key)) || depth > MAX_DEPTH) found.hidden ??= key;
  if (depth > MAX_DEPTH) return end;
  const inner = { found, isModel: names, depth: depth + 1 };
  if (bytes[start] === OPEN_BRACE)
    walkObject(bytes, start, (member, valueStart) =>
      CONTENT.has(member) ? skipValue(bytes, valueStart) : visit(bytes, valueStart, member, inner),
    );
  else if (bytes[start] === OPEN_BRACKET)
    walkArray(bytes, start, (element) => visit(bytes, element, key, inner));
  else noteText(stringAt(bytes, { start, end }), key, { found, isModel: names, depth });
  return end;
}

function noteText(text: string | undefined, key: string, { found, isModel }: Place): void {
  if (text !== undefined && (isModel || (key !== 'name' && isModelName(text)))) found.names.push(text);
}
