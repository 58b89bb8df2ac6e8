import { badRequest } from '../../errors.ts';
import { OPEN_BRACE, OPEN_BRACKET, type Range } from '../../json/bytes.ts';
import { type Edit, insertMember, removeElements, replaceValue } from '../../json/edit.ts';
import { JsonSyntaxError, type Member, readValue, scanArray, scanObject } from '../../json/scan.ts';
import type { Fields } from './fields.ts';

/** A tool that the provider runs while it generates a response. */
export interface ServerTool {
  /** The tool's fee name. */
  name: string;
  /** The request field that enables it. */
  field: string;
  /** How often its per-request fee is charged; once if undefined. */
  times?: number;
  /** The model that the tool calls, if the request names one. */
  model?: string | undefined;
  /** The tool runs code itself, so that containers are free beside it. */
  runsCode?: boolean;
  /** The request's own limit of calls to this tool. */
  maxCalls?: number | undefined;
  /** The edit that limits calls to this tool; undefined if it supports no limit. */
  limitEdit?: (calls: number) => Edit;
}

/** The server tools that a request enables. */
export interface ServerTools {
  tools: ServerTool[];
  /** Scope of the API's call limit: all tools together, each tool, or none. */
  limit: 'all' | 'each' | 'none';
  /** The request's own limit of calls to all tools together. */
  maxCalls?: number | undefined;
  /**
   * True if all tools search the web under a call limit, or all run code, and the request refers to nothing stored. The
   * hold then covers the input that they add round by round, and all other input is in the request.
   */
  heldByRounds?: boolean;
  /** The edits that remove all server tools from the request; undefined if they can't be removed. */
  removal?: Edit[] | undefined;
}

/** Client-side tool types, which cost only tokens. */
const CLIENT_TOOLS =
  /^(function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview|tool_search)$|^(bash|text_editor|computer|memory|computer_toolset|browser_toolset|tool_search_tool_bm25|tool_search_tool_regex)_\d{8}$/;

/** Fee names by tool type. Types carry versions, and some share a fee. */
const FEE_NAMES: readonly (readonly [RegExp, string])[] = [
  [/^web_search_preview(_\d|$)/, 'web_search_preview'],
  [/^web_search(_\d|$)/, 'web_search'],
  [/^web_fetch(_\d|$)/, 'web_fetch'],
  [/^mcp(_toolset)?$/, 'mcp'],
  [/^(code_interpreter|shell|programmatic_tool_calling)$/, 'container'],
  [/^code_execution(_\d|$)/, 'code_execution'],
];

/**
 * Web tools that make code execution free, by the date of their version:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/code-execution-tool
 */
const RUNS_CODE = /^web_(?:search|fetch)_(?:2026(?:0[2-9]|1\d)|202[7-9])/;

/** The server tools in a list of tools. Throws GwError 400 for invalid JSON and a duplicate `type`. */
function toolsInList(bytes: Buffer, list: { start: number }): ServerTool[] {
  if (bytes[list.start] !== OPEN_BRACKET) return [];
  try {
    return scanArray(bytes, list.start).flatMap((element) => toolsIn(bytes, element));
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badRequest(`"tools" is not valid JSON: ${error.message}`, 'tools', 'invalid_json');
  }
}

/** The server tools that a list element enables. */
function toolsIn(bytes: Buffer, { start, end }: Range): ServerTool[] {
  if (bytes[start] !== OPEN_BRACE) return [];
  const members = scanObject(bytes.subarray(start, end));
  for (const member of members) {
    member.keyStart += start;
    member.start += start;
    member.end += start;
  }
  return toolTypes(bytes, members).map((type) => serverTool(bytes, members, type));
}

/** The type of a server tool, or its keys if it has no type, such as Google's; empty for a client-side tool. */
function toolTypes(bytes: Buffer, members: Member[]): string[] {
  const type = uniqueMember(members, 'type');
  const byKey = members.map(({ key }) => key).filter((key) => GOOGLE_TOOLS.test(key));
  if (byKey.length > 0) return byKey;
  if (!type) {
    return members.some(({ key }) => CLIENT_KEYS.has(key)) ? [] : members.map(({ key }) => key);
  }
  const name = readValue(bytes, type);
  if (name === null || (typeof name === 'string' && CLIENT_TOOLS.test(name))) return [];
  if (name === 'shell' && !/"container/.test(canonicalText(bytes, members))) return [];
  return [typeof name === 'string' ? name : JSON.stringify(name)];
}

/** Keys of Google's tools. They count beside any other key. */
const GOOGLE_TOOLS =
  /^(google|url_?context|code_?execution|enterprise|file_?search|computer_?use|retrieval|mcp_?servers)/i;

const CLIENT_KEYS = new Set(['name', 'function', 'functionDeclarations', 'function_declarations']);

/** The only member of that name. Rejects duplicates: gw and the provider could read different ones. */
function uniqueMember(members: Member[], key: string): Member | undefined {
  const matches = members.filter((member) => member.key === key);
  if (matches.length > 1) {
    throw badRequest(`"${key}" appears twice in a tool: remove one`, 'tools', 'duplicate_parameter');
  }
  return matches[0];
}

function serverTool(bytes: Buffer, members: Member[], type: string): ServerTool {
  const name = FEE_NAMES.find(([pattern]) => pattern.test(type))?.[1] ?? type;
  if (name === 'container') return { name: containerName(bytes, members), field: 'tools' };
  const limit = uniqueMember(members, 'max_uses');
  const maxUses = limit && readValue(bytes, limit);
  const limitEdit = (calls: number) =>
    limit ? replaceValue(limit, String(calls)) : insertMember(members, 'max_uses', String(calls));
  const modelMember = uniqueMember(members, 'model');
  const model = modelMember && readValue(bytes, modelMember);
  return {
    name,
    field: 'tools',
    ...(typeof model === 'string' && { model }),
    ...(RUNS_CODE.test(type) && { runsCode: true }),
    maxCalls: isCount(maxUses) ? maxUses : undefined,
    limitEdit,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** The fee name of a container session, which depends on its memory. */
function containerName(bytes: Buffer, members: Member[]): string {
  const text = canonicalText(bytes, members);
  const size = ['64g', '16g', '4g'].find((each) => text.includes(`"memory_limit":"${each}"`));
  return size ? `container_${size}` : 'container';
}

/** The values as compact JSON, without needless escapes. */
function canonicalText(bytes: Buffer, members: Member[]): string {
  return members.map((member) => JSON.stringify(readValue(bytes, member))).join();
}

/** How an API's requests enable server tools. */
export interface ToolShape {
  limit: ServerTools['limit'];
  /** Tools have keys in place of types, so that each is looked at. */
  isKeyed?: boolean;
  /** Fields that enable tools by their presence, with the fee names. */
  fields?: Readonly<Record<string, string>>;
  /** The field that limits calls to all tools together. */
  limitField?: string;
  /** Finds tool lists outside `tools`. Called only for a body with an unusual type. */
  moreLists?: (bytes: Buffer, members: Member[]) => { start: number }[];
}

/** A request's server tools; undefined if there are none, as in nearly all requests. */
export function readServerTools(
  { limit, isKeyed, fields: byField = {}, limitField, moreLists }: ToolShape,
  body: { bytes: Buffer; members: Member[]; fields: Fields; hasUnusualType: boolean; isStored: boolean },
): ServerTools | undefined {
  const { bytes, members, fields, hasUnusualType, isStored } = body;
  const tools = toolsByField(fields, byField);
  if (hasUnusualType || isKeyed) {
    const list = fields.find('tools');
    const lists = [...(list ? [list] : []), ...(moreLists?.(bytes, members) ?? [])];
    tools.push(...lists.flatMap((each) => toolsInList(bytes, each)));
  }
  if (tools.length === 0) return undefined;
  const maxCalls = limitField === undefined ? undefined : fields.integer(limitField, 0, MAX_CALLS);
  const addsByRounds = limit === 'all' ? IS_SEARCH : limit === 'each' ? IS_CODE : undefined;
  const heldByRounds =
    !isStored &&
    addsByRounds !== undefined &&
    tools.every(({ name, field }) => field === 'tools' && addsByRounds.test(name));
  return {
    tools,
    limit,
    maxCalls,
    heldByRounds,
    removal: heldByRounds && limit === 'all' ? removalOf(bytes, members, tools) : undefined,
  };
}

const IS_SEARCH = /^web_search(_preview)?$/;
const IS_CODE = /^code_execution$/;

/** The edits that remove the searches; undefined if no tool would remain or `tool_choice` may name a search. */
function removalOf(bytes: Buffer, members: Member[], tools: readonly ServerTool[]): Edit[] | undefined {
  const list = members.find(({ key }) => key === 'tools');
  const mayName = members.some(({ key, start }) => key === 'tool_choice' && bytes[start] === OPEN_BRACE);
  if (!list || mayName) return undefined;
  const elements = scanArray(bytes, list.start);
  const searches = elements.filter((element) => toolsIn(bytes, element).length > 0);
  if (searches.length !== tools.length || searches.length === elements.length) return undefined;
  return removeElements(elements, (element) => searches.includes(element));
}

const MAX_CALLS = 1_000_000;

/** Tools enabled by their own field, unless its value is false or an empty list. */
function toolsByField(fields: Fields, names: Readonly<Record<string, string>>): ServerTool[] {
  const tools: ServerTool[] = [];
  for (const field in names) {
    const value = fields.read(field);
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0)) continue;
    const isUnrelated = field === 'extra_body' && !/tool|search/i.test(JSON.stringify(value));
    if (!isUnrelated) tools.push({ name: names[field] ?? field, field });
  }
  return tools;
}
