/** A chat message as parsed from JSON. gw reads a few of its fields and keeps the rest. */
export type Message = Readonly<Record<string, unknown>>;

/** A tool call, reduced to what helps to interpret its result. */
export interface ToolCall {
  name: string;
  /** The arguments as JSON text. */
  args: string;
}

export function roleOf(message: Message): string {
  return typeof message.role === 'string' ? message.role : '';
}

/** The texts of a message in order: its content, or its text parts. */
export function textsOf(message: Message): string[] {
  const { content } = message;
  if (typeof content === 'string') return [content];
  if (!Array.isArray(content)) return [];
  return content.map(textOfPart).filter((text) => text !== undefined);
}

/** The message with each text mapped; the same object if none changed. */
export function mapTexts(message: Message, change: (text: string) => string): Message {
  const { content } = message;
  if (typeof content === 'string') {
    const changed = change(content);
    return changed === content ? message : { ...message, content: changed };
  }
  if (!Array.isArray(content)) return message;
  let same = true;
  const parts = content.map((part: unknown) => {
    const text = textOfPart(part);
    if (text === undefined) return part;
    const changed = change(text);
    if (changed === text) return part;
    same = false;
    return { ...(part as object), text: changed };
  });
  return same ? message : { ...message, content: parts };
}

function textOfPart(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const { type, text } = part as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string' ? text : undefined;
}

/** The tool calls of an assistant message by id. */
export function toolCallsOf(message: Message): Map<string, ToolCall> {
  const calls = new Map<string, ToolCall>();
  if (!Array.isArray(message.tool_calls)) return calls;
  for (const call of message.tool_calls as unknown[]) {
    const { id, function: called } = (call ?? {}) as { id?: unknown; function?: unknown };
    const { name, arguments: args } = (called ?? {}) as { name?: unknown; arguments?: unknown };
    if (typeof id === 'string') {
      calls.set(id, {
        name: typeof name === 'string' ? name : '',
        args: typeof args === 'string' ? args : '',
      });
    }
  }
  return calls;
}
