"""Numbers and dates as English, German, Chinese and Japanese write them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal

import regex

WIDE = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
"""Full-width digits and signs as ASCII, for `str.translate`."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner",
            "february feb februar",
            "march mar märz mär",
            "april apr",
            "may mai",
            "june jun juni",
            "july jul juli",
            "august aug",
            "september sep sept",
            "october oct oktober okt",
            "november nov",
            "december dec dezember dez",
        ),
        start=1,
    )
    for name in names.split()
}
# What a name can begin with is looked at first: most of what is read is none.
_MONTH = (
    r"(?=[ADFJMNOSadfjmnos])"
    rf"(?i:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
)
_ERAS = {"明治": 1867, "大正": 1911, "昭和": 1925, "平成": 1988, "令和": 2018}
_ERA = "|".join(_ERAS)
_COUNT = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3})"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"

DATE = rf"""(?:
      \d{{4}}-\d{{1,2}}-\d{{1,2}}(?!\d)
      (?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:\.\d++)?Z?)?
    | \d{{4}}-(?:0[1-9]|1[0-2])(?![\w-])
    | \d{{4}}[/.]\d{{1,2}}[/.]\d{{1,2}}(?![\d.])
    | \d{{1,2}}\.[ ]?\d{{1,2}}\.[ ]?\d{{4}}(?!\d)
    | \d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d{{2}})(?!\d)
    | {_DAY}[ ](?:of[ ])?(?:{_MONTH})(?:,?[ ]\d{{4}}(?!\d))?
    | (?:{_MONTH})[ ]\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?[ ]\d{{4}}(?!\d))?
    | (?:{_MONTH}),?[ ]\d{{4}}(?!\d)
    | (?:{_ERA})(?:{_COUNT}|元)年(?:{_COUNT}月(?:{_COUNT}日)?)?
    | (?:\d{{4}}|[〇一二三四五六七八九]{{4}})年{_COUNT}月(?:{_COUNT}日)?
    | {_COUNT}月{_COUNT}日
    | \d{{1,2}}[時时]\d{{1,2}}分
    | \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?!\d)(?:[ ]?[ap]\.?m\b\.?)?
)"""
"""A date, a month of a year, or a time of the day; for `regex` in verbose mode."""

_EXACT = Context(prec=100)
_GROUP = 3  # digits between marks for thousands
_LAST_DAY = 31
_YEAR = 4  # digits

_SCALES = {
    "thousand": 3,
    "tsd": 3,
    "tausend": 3,
    "million": 6,
    "millions": 6,
    "millionen": 6,
    "mio": 6,
    "mn": 6,
    "billion": 9,
    "billions": 9,
    "bn": 9,
    "milliarde": 9,
    "milliarden": 9,
    "mrd": 9,
    "trillion": 12,
    "billionen": 12,
}
_UNITS = {
    unit: names.split()[0]
    for names in (
        "% percent prozent パーセント per\u00a0cent",
        "$ usd dollar dollars ドル 美元",
        "€ eur euro euros ユーロ 欧元",
        "£ gbp pound pounds",
        "円 jpy yen ¥",
        "元 cny yuan rmb",
        "mg milligram milligrams milligramm",
        "µg μg ug mcg microgram micrograms",
        "kg kilogram kilograms kilogramm キロ",
        "g gram grams gramm グラム",
        "ml milliliter millilitre",
        "l liter litre liters litres",
        "mm millimeter millimetre",
        "cm centimeter centimetre",
        "km kilometer kilometre kilometers kilometres kilometern",
        "m meter metre meters metres metern メートル",
        "ms milliseconds millisekunden",
        "s sec seconds second sekunden sekunde 秒",
        "min minutes minute minuten 分",
        "h hours hour hrs stunden stunde 時間",
        "d days day tage tag tagen 日間",
        "weeks week wochen woche",
        "months month monate monat ヶ月 か月",
        "years year jahre jahr jahren 年間",
        "kb kib",
        "mb mib",
        "gb gib",
        "tb tib",
        "hz",
        "khz",
        "mhz",
        "ghz",
        "w",
        "kw",
        "mw",
        "gw",
        "v",
        "kwh",
        "°c",
        "°f",
        "k",
        "x",
        "bp",
        "px",
        "pt",
        "人 名",
        "件",
        "個",
        "回",
        "歳",
    )
    for unit in names.split()
}
_UNIT = (
    "(?=[^\\s\\d.,;:!?()])(?:"
    + "|".join(
        regex.escape(unit) + (r"\b" if unit.isascii() and unit.isalpha() else "")
        for unit in sorted(_UNITS, key=len, reverse=True)
    )
    + ")"
)
_SCALE = f"(?=[bmtBMT])(?:{'|'.join(sorted(_SCALES, key=len, reverse=True))})"
_DIGITS = (
    r"(?:\d{1,3}(?:[,.'’\u00a0\u202f]\d{3}){1,12}+(?:[.,]\d{1,40}+)?+(?!\d)"
    r"|\d{1,40}+(?:[.,]\d{1,40}+)?+(?!\d))"
)
_HAN = "〇一二三四五六七八九十百千"
_HAN_SCALE = "万億兆亿萬"
HAN_NUMERALS = _HAN + _HAN_SCALE

NUMBER = rf"""(?:
      (?<![\w\\.])(?<!&\#)(?!(?<=<)\d++>)(?:(?<![^\s(（\[])[-−])?+(?:[$€£¥][ ]?+)?+
      {_DIGITS}(?:[{_HAN_SCALE}](?:\d[\d,]*+[{_HAN_SCALE}])?+)?+
      (?:[ \u00a0]?(?i:{_SCALE})\b\.?)?+
      (?:[ \u00a0]?(?i:{_UNIT}))?+(?:(?<=\d)(?:st|nd|rd|th))?+(?![A-Za-z_\d])
    | (?<![{_HAN}{_HAN_SCALE}])[{_HAN}{_HAN_SCALE}]{{2,30}}+(?![{_HAN}{_HAN_SCALE}])
      (?:(?i:{_UNIT}))?+
    | (?<=[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}])
      {_DIGITS}(?:[{_HAN_SCALE}](?:\d[\d,]*+[{_HAN_SCALE}])?+)?+
      (?:(?i:{_UNIT}))?+(?![A-Za-z_\d])
    | (?<![\w\\.])(?<!&\#)(?!(?<=<)\d++>)
      {_DIGITS}(?=[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}])
)"""
"""A number with its sign, scale and unit; for `regex` in verbose mode."""

_PARTS = regex.compile(
    rf"""\s*+(?P<sign>[-−])?+(?P<money>[$€£¥])?+\s*+
    (?P<number>{_DIGITS}|[{_HAN}{_HAN_SCALE}]++)
    (?P<han>[{_HAN_SCALE}](?:\d[\d,]*+[{_HAN_SCALE}])?+)?+
    [ \u00a0]?(?P<scale>(?i:{_SCALE})\b\.?)?+
    [ \u00a0]?(?P<unit>(?i:{_UNIT}))?+""",
    regex.VERBOSE,
)
_HAN_DIGITS = {digit: value for value, digit in enumerate("〇一二三四五六七八九")}
_HAN_TENS = {"十": 10, "百": 100, "千": 1000}
_HAN_SCALES = {"万": 4, "萬": 4, "億": 8, "亿": 8, "兆": 12}
_SPELLED = {
    word: str(number)
    for number, words in enumerate(
        (
            "zero no null",
            "one once first a an ein eine einer einen eins erste 一",
            "two twice second both zwei zweite 二 两",
            "three third drei dritte 三",
            "four fourth vier 四",
            "five fifth fünf 五",
            "six sixth sechs 六",
            "seven seventh sieben 七",
            "eight eighth acht 八",
            "nine ninth neun 九",
            "ten tenth zehn 十",
            "eleven elf",
            "twelve zwölf",
        )
    )
    for word in words.split()
}
_CLOCK = regex.compile(
    r"(?i)[T ]?(\d{1,2})[:時时](\d{1,2})"
    r"(?:分|(?::(\d{2}))?(?:\.\d++)?Z?[ ]?(?:([ap])\.?m)?)"
)
_WORD = regex.compile(r"[a-zäöü]++|[一二三四五六七八九十两]")


def number_keys(said: str) -> list[str]:
    """Return the keys of a number: what it says, then how else it can be read.

    >>> number_keys("1,234.50 kg"), number_keys("3 Mio. €"), number_keys("三億")
    (['1234.5 kg', '1234.5 ?'], ['3000000 €', '3000000 ?'], ['300000000'])

    Args:
        said: What stands in a text.

    Returns:
        The number with its unit, if it has one; then readings that are as good.
    """
    if said.isdecimal():
        return [_plain(said)]
    match = _PARTS.match(said)
    if match is None:
        return [said]
    unit = match["money"] or match["unit"] or ""
    unit = _UNITS.get(unit.lower(), unit)
    power = _SCALES.get((match["scale"] or "").lower().rstrip("."), 0)
    sign = "-" if match["sign"] else ""
    found: list[str] = []
    for value in _readings(match["number"], match["han"] or ""):
        number = sign + _shifted(value, power)
        found.append(f"{number} {unit}" if unit else number)
        if unit:
            found.append(f"{number} ?")
    return found


def _readings(digits: str, han: str) -> Iterator[str]:
    """Return a number in plain digits, in each way that it can be read."""
    if digits[0] in _HAN or digits[0] in _HAN_SCALE:
        yield str(_han_number(digits))
        return
    if han:
        scale = _HAN_SCALES[han[0]]
        rest = han[1:]
        value = _shifted(_decimal(digits), scale)
        if rest:
            more = _shifted(_decimal(rest[:-1]), _HAN_SCALES[rest[-1]])
            value = _plain(str(_EXACT.add(Decimal(value), Decimal(more))))
        yield value
        return
    yield _decimal(digits)
    marks = [sign for sign in digits if not sign.isdigit()]
    if len(marks) == 1 and len(digits) - digits.index(marks[0]) == _GROUP + 1:
        # 1.234 and 1,234: what one language takes for thousands another does not.
        whole, part = digits.split(marks[0])
        yield whole + part if marks[0] == "." else _plain(f"{whole}.{part}")


def _decimal(digits: str) -> str:
    """Return digits with marks between as a plain number."""
    marks = [sign for sign in digits if not sign.isdigit()]
    if not marks:
        return _plain(digits)
    last = marks[-1]
    tail = digits.rpartition(last)[2]
    alike = len(set(marks)) == 1
    groups = len(tail) == _GROUP and alike and (len(marks) > 1 or last != ".")
    if groups or last not in ".,":
        return _plain("".join(filter(str.isdigit, digits)))
    whole = "".join(filter(str.isdigit, digits[: -len(tail) - 1]))
    return _plain(f"{whole}.{tail}")


def _plain(number: str) -> str:
    """Leave out zeros that say nothing."""
    whole, dot, part = number.partition(".")
    part = part.rstrip("0")
    return f"{whole.lstrip('0') or '0'}{dot if part else ''}{part}"


def _shifted(number: str, power: int) -> str:
    if not power:
        return number
    whole, _, part = number.partition(".")
    part = part.ljust(power, "0")
    return _plain(f"{whole}{part[:power]}.{part[power:]}")


def _han_number(text: str) -> int:
    total = group = digit = 0
    for sign in text:
        if sign in _HAN_DIGITS:
            digit = digit * 10 + _HAN_DIGITS[sign]
        elif sign in _HAN_TENS:
            group += (digit or 1) * _HAN_TENS[sign]
            digit = 0
        else:
            total += (group + digit or 1) * 10 ** _HAN_SCALES[sign]
            group = digit = 0
    return total + group + digit


def unit_names(unit: str) -> list[str]:
    """Return how the unit of a key is written.

    >>> unit_names("£")
    ['£', 'gbp', 'pound', 'pounds']
    """
    return [name for name, key in _UNITS.items() if key == unit] or [unit]


def date_key(said: str) -> str:
    """Return the key of a date: year, month and day as far as they are said.

    >>> date_key("March 3rd, 2024"), date_key("令和6年3月"), date_key("3月3日")
    ('2024-03-03', '2024-03', '-03-03')

    Args:
        said: What stands in a text.

    Returns:
        The key; of a time, and of a date whose order is not known, what is said.
    """
    if clock := _CLOCK.search(said):
        return " ".join(filter(None, (date_key(said[: clock.start()]), _time(clock))))
    numbers = regex.findall(r"\d++|元|[〇一二三四五六七八九十]++", said)
    if not numbers:
        return ""
    if said.count("/") > 1 and len(numbers[0]) < _YEAR:
        return said
    month = next(
        (
            _MONTHS[word]
            for word in regex.findall(r"[^\W\d_]++", said.lower())
            if word in _MONTHS
        ),
        None,
    )
    values = [_counted(each) for each in numbers]
    era = next((start for name, start in _ERAS.items() if said.startswith(name)), None)
    if era is not None:
        values[0] += era
    if month is not None:
        year = next((value for value in values if value > _LAST_DAY), None)
        day = next((value for value in values if value <= _LAST_DAY), None)
        return _date(year, month, day)
    if "年" not in said and "月" in said:
        return _date(None, *values)
    if "." in said and len(numbers[0]) < _YEAR:
        values.reverse()
    return _date(*values)


def _time(clock: regex.Match[str]) -> str:
    """Return the key of a time of the day, in 24 hours."""
    hour, minute, second, half = clock.groups()
    turned = int(hour) % 12 + 12 * (half.lower() == "p") if half else int(hour)
    rest = f":{second}" if second and int(second) else ""
    return f"{turned:02}:{int(minute):02}{rest}"


def _counted(said: str) -> int:
    """Return a year, month or day, in digits or spelled in Chinese or Japanese."""
    if said == "元":
        return 1
    return int(said) if said.isdecimal() else _han_number(said)


def _date(year: int | None, month: int | None = None, day: int | None = None) -> str:
    parts = [str(year) if year is not None else ""]
    parts += [f"{part:02}" for part in (month, day) if part is not None]
    return "-".join(parts)


def spelled(text: str) -> set[str]:
    """Return the small numbers that a text spells, as keys.

    >>> sorted(spelled("Drei of both"))
    ['2', '2 ?', '3', '3 ?']
    """
    keys = {
        _SPELLED[word] for word in set(_WORD.findall(text.lower())) if word in _SPELLED
    }
    return keys | {f"{key} ?" for key in keys}
