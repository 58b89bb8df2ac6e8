import { commandInMarkdown, factInMarkdown } from './code-span.ts';
import type { ChatMessage } from './message.ts';

const COLORS = { good: 0x2eb67d, warning: 0xecb22e, danger: 0xe01e5a };

/** Discord (https://discord.com/developers/docs/resources/webhook#execute-webhook); mentions are disabled. */
export function formatDiscord(message: ChatMessage): object {
  return {
    embeds: [
      {
        title: message.title,
        color: COLORS[message.tone],
        ...(message.command !== undefined && { description: commandInMarkdown(message.command) }),
        fields: message.facts.map((fact) => ({
          name: fact.label,
          value: factInMarkdown(fact),
          inline: false,
        })),
      },
    ],
    allowed_mentions: { parse: [] },
  };
}
