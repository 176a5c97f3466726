/** Phrases that are correct grammar of another language, and what an English reader expects. */
export interface Phrase {
  fault: string;
  pattern: RegExp;
  instead: string;
}

const THINGS =
  '(?:ledger|document|service|code|page|view|setting|file|program|run|table|record|column|report|message|lake|catalog|status|index|schema|response|answer|watcher|command|policy|test|list|error|log|line|manifest|marker|stack|function|alarm|reading|version|snapshot|checkpoint|header|clock|map|contract|comment|title|plan|lock|claim|adapter|port|fake|engine|builder|caller|parser|driver|library|tool)s?';

/** A row for each fault of the table in the contribution guide that a pattern finds with few false alarms. */
export const phrases: readonly Phrase[] = [
  {
    fault: '"behind" for time or order',
    pattern:
      /(?<!\b(?:is|are|be|was|were|fall|falls|fell|far|minutes?|hours?|seconds?|days?|left|stay|stays|lie|lies|lay|clocks?|further|leaves? \w+) )\bbehind\b(?! (?:a|an|the|its|their|one|this|two|no) (?:\w+ )?(?:ports?|proxy|proxies|gateway|firewall|NAT|load balancer|interface|door|clock|cursor|link|flag|key|name|symlink|authoriser|lambda)\b)(?! (?:NAT|a lock))/i,
    instead: '"after" for time and order ("after the last page"), "past" for positions',
  },
  {
    fault: '"made again"',
    pattern: /\b(?:made|makes?|making) (?:\w+ ){0,3}?again\b|\bremade\b/i,
    instead: 'rebuilt, recreated, "sent again"',
  },
  {
    fault: '"look" for a check or a watcher run',
    pattern:
      /\b(?:a|each|every|one|two|the (?:last|next|first)|another) looks?\b(?! like)|\blook(?:s|ed|ing)? (?:at|into)\b|\btakes? a look\b/i,
    instead: 'check, read, watcher run',
  },
  {
    fault: '"none" standing in for a noun',
    pattern:
      /(?<!\bthere )\b(?:is|are|was|were|be|has|have|had) none\b(?! of\b)|\bof which none\b|\bwhere none\b|\b(?:and|or|but|if) none\b(?! of)/i,
    instead: 'repeat the noun: "is not a …", "has no …"',
  },
  {
    fault: '"be it that", "all the same", "for good"',
    pattern: /\bbe it\b|\ball the same\b|\bfor good\b(?! reasons?)/i,
    instead: 'even if, still, permanently',
  },
  {
    fault: '"where" for "if" or "when"',
    pattern:
      /(?:^|[.;:(—] )Where\b(?![^.?]*\?)[^.,;:]*,|\b[Ww]here (?:no|nothing|nobody|not|none|neither|needed|necessary|possible|there (?:is|are) (?:no|none))\b|\b(?:only|except|also|even|but|not|unless|than) where\b|, where (?:it|they|that|this|he) (?:is|are|has|have|does|do|can|cannot|was|were)\b/i,
    instead: 'if, when ("where" only for places)',
  },
  {
    fault: 'software that speaks',
    pattern: new RegExp(
      `(?:\\b${THINGS}|${'`_`'}) (?:says?|said|tells?|told|knows?|knew|asks?|wants?|wanted)\\b|\\b(?:it|they|that|which|what) (?:says|tells|knows|asks|wants)\\b`,
      'i',
    ),
    instead: 'contains, records, returns, shows, explains, requires, requests, reads',
  },
  {
    fault: '"asked" for "requested"',
    pattern:
      /\b(?:is|are|was|were|be|been|being|it|that|and|or) asked\b|\basks? nothing\b|\basked (?:for|again|once)\b/i,
    instead: 'is requested, is read; sends no request',
  },
  {
    fault: 'a pronoun without its noun',
    pattern: /\bthose (?:that|which)\b|\bthat of\b|\bthe (?:one|ones) (?:that|which|who|of)\b/i,
    instead: 'repeat the noun: "the days that …", "the version of …"',
  },
  {
    fault: 'a clause standing in for a noun',
    pattern:
      /\bwhat (?:came|comes|became|becomes|is due|was due|it holds|they hold|is there|was there|(?:it|they) (?:has|have|had)(?! (?:\w+ed|been|read|written|done|sent|told|kept|made|found)\b))\b(?![^.]*\?)/i,
    instead: 'name it: the new records, due days, its contents',
  },
  {
    fault: 'a private word',
    pattern:
      /\bstairs?\b|\bcalm(?:er|est)?\b|\bsuspects?\b|(?<!\bin )\b(?:a|the|one|each|every|two|three|identical|first|second|last|whole|full|next|previous|earlier|same|another|other|this|that|its) pass(?:es)?\b(?! (?:on|through|as|over)\b)|\b(?:a|the|each|every|two|other|side|lower|upper|same|its|this|these|which|of) rooms?\b(?! (?:for|on|left|in|to)\b)/i,
    instead: 'layer (stair), candidate (suspect), full read (pass), module (room)',
  },
  {
    fault: 'a range that names a day',
    pattern: /\b(?:ranges?|until one) (?:that )?names?\b|\bnam(?:es?|ed) (?:\w+ )?by a range\b/i,
    instead: 'the day is read with `--from` and `--to`',
  },
];

/** Headings that a reader would not search for. */
export const riddles: readonly Phrase[] = [
  {
    fault: 'a heading that ends in a riddle',
    pattern:
      / (?:of|for|by|in|on|with|at|to|from|about|it|its|them|they|that|this|one|none|all|is|are|not|past|again|came|comes|holds|happens|made|costs|back|itself)[.?!]?$|^(?:Everywhere|Afterwards|Entries|More|Others?)$/i,
    instead: 'what a reader searches for: a task ("Query an earlier version") or a thing ("Costs")',
  },
  {
    fault: 'a heading that names a case and no task',
    pattern: /^An? [^:]*$|^(?:Another|What|How (?!to\b))[^:]*$/,
    instead: 'the task: "Repair a damaged ledger", "Smoke test in a real account"',
  },
];
