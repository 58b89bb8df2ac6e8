import { badRequest } from '../../errors.ts';
import { type Edit, insertMember, replaceValue } from '../../json/edit.ts';
import { JsonSyntaxError, type Member, readValue, scanArray, scanObject } from '../../json/scan.ts';
import type { Fields } from './fields.ts';

/** A tool that the provider runs itself while it answers. */
export interface ServerTool {
  /** As fees are named. */
  name: string;
  /** The field of the request that asks for it. */
  field: string;
  /** The calls that the request itself allows. */
  mostCalls?: number | undefined;
  /** Where its own limit may be written. */
  limitAt?: (calls: number) => Edit;
}

/** The provider's own tools that a request brings. */
export interface ServerTools {
  tools: ServerTool[];
  /** What a limit counts: the calls of all tools together, those of each, or the API has none. */
  limit: 'all' | 'each' | 'none';
  /** The request's own limit of all calls together. */
  mostCalls?: number | undefined;
}

/** Types of tools that the client runs, and that so cost nothing but tokens. */
const CLIENT_TOOLS =
  /^(function|custom|namespace|local_shell|apply_patch|computer|computer_use_preview|tool_search)$|^(bash|text_editor|computer|memory|computer_toolset|browser_toolset|tool_search_tool_bm25|tool_search_tool_regex)_\d{8}$/;

/** Tools of one name have many versions, and some names mean the same. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^web_search_preview(_\d|$)/, 'web_search_preview'],
  [/^web_search(_\d|$)/, 'web_search'],
  [/^web_fetch(_\d|$)/, 'web_fetch'],
  [/^mcp(_toolset)?$/, 'mcp'],
  [/^(code_interpreter|shell|programmatic_tool_calling)$/, 'container'],
  [/^code_execution(_\d|$)/, 'code_execution'],
];

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** The provider's own tools of a list of tools. Throws GwError 400 for a type that stands twice. */
function toolsInList(bytes: Buffer, list: { start: number }): ServerTool[] {
  if (bytes[list.start] !== OPEN_BRACKET) return [];
  return scanArray(bytes, list.start).flatMap(({ start, end }) => {
    if (bytes[start] !== OPEN_BRACE) return [];
    const members = scanObject(bytes.subarray(start, end)).map((member) => shifted(member, start));
    return namesOf(bytes, members).map((type) => serverTool(bytes, members, type));
  });
}

function shifted({ key, keyStart, start, end }: Member, by: number): Member {
  return { key, keyStart: keyStart + by, start: start + by, end: end + by };
}

/** The tool's type; the keys of one that has no type, as Google names its tools, but for a client's. */
function namesOf(bytes: Buffer, members: Member[]): string[] {
  const type = onlyOne(members, 'type');
  const byKey = members.map(({ key }) => key).filter((key) => GOOGLE_TOOLS.test(key));
  if (byKey.length > 0) return byKey;
  if (!type) {
    return members.some(({ key }) => CLIENT_KEYS.has(key)) ? [] : members.map(({ key }) => key);
  }
  const name = readValue(bytes, type);
  if (name === null || (typeof name === 'string' && CLIENT_TOOLS.test(name))) return [];
  if (name === 'shell' && !/"container/.test(textOf(bytes, members))) return [];
  return [typeof name === 'string' ? name : JSON.stringify(name)];
}

/** Keys by which Google knows its own tools, whatever else stands beside them. */
const GOOGLE_TOOLS = /^(google|url_?context|code_?execution|enterprise)/i;

const CLIENT_KEYS = new Set(['name', 'function', 'functionDeclarations', 'function_declarations']);

/** Two of a name could mean one thing here and another at the provider. */
function onlyOne(members: Member[], key: string): Member | undefined {
  const found = members.filter((member) => member.key === key);
  if (found.length > 1) {
    throw badRequest(`"${key}" stands twice in one of the tools`, 'tools', 'duplicate_parameter');
  }
  return found[0];
}

function serverTool(bytes: Buffer, members: Member[], type: string): ServerTool {
  const name = NAMES.find(([pattern]) => pattern.test(type))?.[1] ?? type;
  if (name === 'container') return { name: containerOf(bytes, members), field: 'tools' };
  const most = onlyOne(members, 'max_uses');
  const uses = most && readValue(bytes, most);
  const limitAt = (calls: number) =>
    most ? replaceValue(most, String(calls)) : insertMember(members, 'max_uses', String(calls));
  return { name, field: 'tools', mostCalls: isCount(uses) ? uses : undefined, limitAt };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Sessions are priced by their memory, however it is written. */
function containerOf(bytes: Buffer, members: Member[]): string {
  const text = textOf(bytes, members);
  const size = ['64g', '16g', '4g'].find((each) => text.includes(`"memory_limit":"${each}"`));
  return size ? `container_${size}` : 'container';
}

/** The values as gw would write them: without spaces, and without escapes that nothing needs. */
function textOf(bytes: Buffer, members: Member[]): string {
  return members.map((member) => JSON.stringify(readValue(bytes, member))).join();
}

/** What there is to read of the provider's own tools in the requests of a wire. */
export interface ToolShape {
  limit: ServerTools['limit'];
  /** Fields that ask for tools by being there, and the names of their fees. */
  fields?: Readonly<Record<string, string>>;
  /** The field that limits all calls together. */
  limitField?: string;
  /** Where else lists of tools may be, in a body that has anything odd. */
  moreLists?: (bytes: Buffer, members: Member[]) => { start: number }[];
}

/** The provider's own tools of a request; undefined where there are none, as in nearly all. */
export function readServerTools(
  { limit, fields: byField = {}, limitField, moreLists }: ToolShape,
  {
    bytes,
    members,
    fields,
    hasOddType,
  }: { bytes: Buffer; members: Member[]; fields: Fields; hasOddType: boolean },
): ServerTools | undefined {
  const tools = toolsByField(fields, byField);
  if (hasOddType) {
    const list = fields.find('tools');
    const lists = [...(list ? [list] : []), ...(moreLists?.(bytes, members) ?? [])];
    tools.push(...lists.flatMap((each) => readList(bytes, each)));
  }
  if (tools.length === 0) return undefined;
  const mostCalls = limitField === undefined ? undefined : fields.integer(limitField, 0, MAX_CALLS);
  return { tools, limit, mostCalls };
}

const MAX_CALLS = 1_000_000;

function readList(bytes: Buffer, list: { start: number }): ServerTool[] {
  try {
    return toolsInList(bytes, list);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badRequest(`"tools" is not valid JSON: ${error.message}`, 'tools', 'invalid_json');
  }
}

/** Tools that are asked for by a field of their own, as long as it says anything. */
function toolsByField(fields: Fields, names: Readonly<Record<string, string>>): ServerTool[] {
  const tools: ServerTool[] = [];
  for (const field in names) {
    const value = fields.read(field);
    if (value === undefined || value === false || (Array.isArray(value) && value.length === 0)) continue;
    const isHarmless = field === 'extra_body' && !/tool|search/i.test(JSON.stringify(value));
    if (!isHarmless) tools.push({ name: names[field] ?? field, field });
  }
  return tools;
}
