import { commandInMarkdown, factInMarkdown } from './code-span.ts';
import type { ChatMessage } from './message.ts';

const COLORS = { good: '#2eb67d', warning: '#ecb22e', danger: '#e01e5a' };

/** Mattermost (https://developers.mattermost.com/integrate/webhooks/incoming). */
export function formatMattermost(message: ChatMessage): object {
  return {
    text: `**${message.title}**`,
    attachments: [
      {
        fallback: message.title,
        color: COLORS[message.tone],
        ...(message.command !== undefined && { text: commandInMarkdown(message.command) }),
        fields: message.facts.map((fact) => ({
          title: fact.label,
          value: factInMarkdown(fact),
          short: false,
        })),
      },
    ],
  };
}
