import type { WebhookFormat } from '../../store/webhooks/endpoints.ts';
import type { ChatMessage, Fact } from './message.ts';

/** The chat formats. To add one: a function here, its name in WEBHOOK_FORMATS, its URL in recognise.ts. */
export const CHAT_FORMATS: Record<Exclude<WebhookFormat, 'json'>, (message: ChatMessage) => object> = {
  slack: formatSlack,
  discord: formatDiscord,
  teams: formatTeams,
  'google-chat': formatGoogleChat,
  mattermost: formatMattermost,
  ntfy: formatNtfy,
};

const DISCORD_COLORS = { good: 0x2eb67d, warning: 0xecb22e, danger: 0xe01e5a };

/** Discord (https://discord.com/developers/docs/resources/webhook#execute-webhook); mentions are disabled. */
function formatDiscord(message: ChatMessage): object {
  return {
    embeds: [
      {
        title: message.title,
        color: DISCORD_COLORS[message.tone],
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

/** Google Chat (https://developers.google.com/workspace/chat/api/reference/rest/v1/cards); its widgets render HTML. */
function formatGoogleChat(message: ChatMessage): object {
  const facts = message.facts.map(({ label, value }) => ({
    decoratedText: { topLabel: label, text: escapeHtml(value), wrapText: true },
  }));
  const command =
    message.command === undefined
      ? []
      : [{ decoratedText: { topLabel: 'Command', text: escapeHtml(message.command), wrapText: true } }];
  return {
    cardsV2: [
      {
        cardId: 'gw',
        card: { header: { title: message.title }, sections: [{ widgets: [...facts, ...command] }] },
      },
    ],
  };
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/**
 * Slack (https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks). Rich text elements are literal,
 * without markup or mentions. Only `text`, which notifications show, needs escaping.
 */
function formatSlack(message: ChatMessage): object {
  const lines = message.facts.flatMap(({ label, value }, i) => [
    { type: 'text', text: `${i > 0 ? '\n' : ''}${label}: `, style: { bold: true } },
    { type: 'text', text: value },
  ]);
  const command =
    message.command === undefined
      ? []
      : [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: message.command }] }];
  return {
    text: escapeSlack([message.title, ...message.facts.map(({ value }) => value)].join(' | ')),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: message.title } },
      { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: lines }, ...command] },
    ],
  };
}

function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const PRIORITIES = { good: 3, warning: 4, danger: 5 };
/** Short codes of the emoji before the title. */
const TAGS = { good: 'white_check_mark', warning: 'warning', danger: 'rotating_light' };

/** ntfy (https://docs.ntfy.sh/publish/#publish-as-json), as plain text. Its topic is in the URL. */
function formatNtfy({ tone, title, facts, command }: ChatMessage): object {
  const lines = facts.map(({ label, value }) => `${label}: ${value}`);
  return {
    title,
    message: [...lines, ...(command === undefined ? [] : [command])].join('\n'),
    priority: PRIORITIES[tone],
    tags: [TAGS[tone]],
  };
}

/** URL and topic to publish JSON: the server's URL, with the topic in the body. */
export function ntfyAddress(topicUrl: string): { url: string; topic: string } {
  const url = new URL(topicUrl);
  const segments = url.pathname.replace(/\/$/, '').split('/');
  const topic = segments.pop() ?? '';
  url.pathname = `${segments.join('/')}/`;
  return { url: url.href, topic };
}

const MATTERMOST_COLORS = { good: '#2eb67d', warning: '#ecb22e', danger: '#e01e5a' };

/** Mattermost (https://developers.mattermost.com/integrate/webhooks/incoming). */
function formatMattermost(message: ChatMessage): object {
  return {
    text: `**${message.title}**`,
    attachments: [
      {
        fallback: message.title,
        color: MATTERMOST_COLORS[message.tone],
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

const TEAMS_COLORS = { good: 'good', warning: 'warning', danger: 'attention' };

/** Teams: an Adaptive Card. Uses text runs, because text blocks and fact sets interpret Markdown. */
function formatTeams(message: ChatMessage): object {
  const facts = message.facts.map(({ label, value }) =>
    line([
      { type: 'TextRun', text: `${label}: `, weight: 'bolder' },
      { type: 'TextRun', text: value },
    ]),
  );
  const command =
    message.command === undefined
      ? []
      : [line([{ type: 'TextRun', text: message.command, fontType: 'monospace' }])];
  const title = {
    type: 'TextBlock',
    text: message.title,
    size: 'large',
    weight: 'bolder',
    color: TEAMS_COLORS[message.tone],
    wrap: true,
  };
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.2',
    body: [title, ...facts, ...command],
  };
  return {
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content }],
  };
}

const line = (inlines: object[]): object => ({ type: 'RichTextBlock', inlines });

/** A value in Markdown. External text goes into a code span, where neither markup nor mentions work. */
function factInMarkdown({ value, external }: Fact): string {
  return external ? `\`${withoutBackticks(value)}\`` : value;
}

const commandInMarkdown = (command: string): string => `\`\`\`\n${withoutBackticks(command)}\n\`\`\``;

/** Backticks can't be escaped in code. */
const withoutBackticks = (text: string): string => text.replaceAll('`', "'");
