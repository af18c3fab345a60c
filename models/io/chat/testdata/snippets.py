"""Small templates for make_chat_golden.py: expressions, statements and white space."""

DATA = {"n": 7, "f": 2.5, "s": "Hello World", "u": "Straße ÀÉ 😀", "e": "", "nothing": None,
        "yes": True, "l": [3, 1, 2], "w": ["b", "A", "c"], "d": {"b": 1, "a": "x", "items": 5},
        "m": [{"role": "user", "n": 1, "t": {"k": "v"}}, {"role": "tool", "n": 3, "t": {"k": "u"}},
              {"role": "user", "n": 2}]}

# Each is printed as {{ expression }}.
EXPRESSIONS = """
1 + 2 * 3 - 4
7 // 2 ~ -7 // 2 ~ 7 % 3 ~ -7 % 3 ~ 7 / 2
2 ** 3 ** 2
-2 ** 2
2 ** -1
1.0 ~ 1e16 ~ 1e15 ~ 0.0001 ~ 0.00001 ~ 1.5e300 ~ ' ' ~ (0.1 + 0.2) ~ 123456789.125 ~ 1e22 ~ -0.0
7.5 // 2 ~ ' ' ~ -7.5 % 2 ~ ' ' ~ 1e308 * 10
1 / 0
1 // 0.0
true + 1
'a' + 1
'a' * 3 ~ 2 * 'b' ~ [1] * 2
[1, 2] + [3]
(1, 2) + (3,)
'%s is %d and %5.2f|%-5s|%05d|%x' % ('a', 3, 2.345, 'b', 42, 255)
'%s' % 'x'
'%s %s' % ('x',)
'%(a)s' % {'a': 1}
'100%'
'{} {1}'.format(1, 2)
'{} {}'.format(1, 2) ~ '{1} {0}'.format(1, 2)
'{} {} {a}'.format(1, 'b', a=[1])
'{0:>5}|{0:<5}|{0:^5}|{1:05d}|{2:.2f}|{1:,}'.format('ab', 1234567, 3.14159)
'{a[b]} {a.b}'.format(a={'b': 1})
'{!r}'.format('x')
'{0.__class__}'.format('x')
1 < 2 < 3
1 < 3 < 2
1 == 1.0 == true
'a' < 'b'
'a' < 1
none < 1
[1, 2] < [1, 3]
[1, 2] == (1, 2)
{'a': 1} == {'a': 1.0}
1 in l
'x' in d
'ell' in s
1 in s
5 not in l
2 in range(5)
undefined_thing
undefined_thing is defined
undefined_thing.x
undefined_thing['x']
d.nope
d.nope.x
d.nope is defined
nothing.x
nothing.x is undefined
s.nope
n.nope
undefined_thing == other_thing
undefined_thing + 1
undefined_thing ~ 'a'
undefined_thing and 1
undefined_thing or 'x'
'a' in undefined_thing
not undefined_thing
undefined_thing()
d.items is callable
d['items']
d.items()
d.keys() | list
d.values() | list
d.get('a') ~ d.get('zz') ~ d.get('zz', 3)
d.pop('a')
l.append(4)
l.index(1) ~ l.count(1)
d
[1, 'a', none, true, 1.5, {'x': (1,)}, (), []]
['it\\'s', "q\\"q", 'both\\'"', 'a\\nb', '\\x07', '\\u00e9', '\\u200b']
(1,)
(1, 2)
{1: 2, none: 3, 'a': {}}
{'a': 1, 'a': 2}
{[]: 1}
none
true
yes ~ nothing ~ f
1 if false
(1 if false) is defined
1 if n > 5 else 2
1 if 0 else 2 if 0 else 3
l[0] ~ l[-1]
l[10]
l['a']
l[1:] ~ l[:-1] ~ l[::-1] ~ l[::2] ~ l[5:] ~ l[-2:]
s[1:4] ~ s[::-1] ~ s[0] ~ s[-1]
u[::-1]
u[2:5] ~ u[4] ~ u | length
l[::0]
l[1.5]
range(5)[1:3]
range(3)
range(5, 0, -2) | list
range(3) | length
range(0)
range(10**9)
m[0].role ~ m[0]['t'].k
m[0].t.k.zz
m.0.role
s.upper() ~ s.lower() ~ s.title() ~ s.swapcase() ~ s.capitalize()
u.upper() ~ '|' ~ u.lower() ~ '|' ~ u.title() ~ '|' ~ u.capitalize()
'ΑΣ ΣΑΣ'.lower()
' x '.strip() ~ '|' ~ ' x '.lstrip() ~ '|' ~ ' x '.rstrip() ~ '|'
'xxaxx'.strip('x') ~ 'abcba'.lstrip('ab') ~ 'abc'.rstrip('bc')
'a,b,,c'.split(',') ~ ' a  b '.split() ~ 'a,b,c'.split(',', 1) ~ 'a b c'.split(maxsplit=1)
'a,b,c'.rsplit(',', 1) ~ ' a b  c '.rsplit(none, 1)
'a'.split('')
'a\\nb\\r\\nc\\n'.splitlines() ~ 'a\\nb'.splitlines(true)
s.startswith('He') ~ s.endswith(('x', 'ld')) ~ s.startswith('lo', 3)
s.find('o') ~ s.rfind('o') ~ s.find('zz') ~ s.count('l') ~ s.index('W')
s.index('zz')
'aaa'.replace('a', 'b', 2) ~ 'abc'.replace('', '-')
', '.join(w) ~ '-'.join('abc')
','.join([1])
'a-b-c'.partition('-') ~ 'a-b-c'.rpartition('-') ~ 'abc'.partition('x')
'foobar'.removeprefix('foo') ~ 'foobar'.removesuffix('bar')
'ab'.center(5, '*') ~ 'ab'.ljust(4) ~ 'ab'.rjust(4) ~ '-7'.zfill(4) ~ 'abc'.center(6) ~ 'ab'.center(7)
'12'.isdigit() ~ '²'.isdigit() ~ 'a1'.isalnum() ~ 'ab'.isalpha() ~ ' '.isspace() ~ 'A'.isupper() ~ '½'.isnumeric()
''.isdigit()
s | upper ~ s | lower ~ s | title ~ 'a b-c (d' | title ~ 'hELLO' | capitalize
' x ' | trim ~ '|' ~ 'xax' | trim('x')
nothing | trim
undefined_thing | trim
undefined_thing | upper
s | length ~ l | count ~ d | length ~ u | length
n | length
l | first ~ l | last ~ [] | first ~ s | first
l | sort ~ l | sort(reverse=true) ~ w | sort ~ w | sort(case_sensitive=true)
[1, 'a'] | sort
m | sort(attribute='n') | map(attribute='n') | list
m | sort(attribute='role,n') | map(attribute='n') | join
l | reverse | list ~ s | reverse
l | join(', ') ~ m | join('-', attribute='role') ~ 'abc' | join('.')
l | sum ~ m | sum(attribute='n') ~ l | min ~ l | max ~ [] | sum
['a', 'A', 'b'] | unique | list
m | map(attribute='t.k') | list
m | map(attribute='t.k', default='?') | list
w | map('upper') | list ~ w | map('replace', 'A', 'zz') | join
w | map('nope') | list
m | selectattr('role', 'equalto', 'user') | map(attribute='n') | list
m | rejectattr('role', 'equalto', 'user') | list
m | selectattr('t') | list | length
[0, 1, 2, none] | select | list ~ [1, 2, 3] | select('odd') | list ~ [1, 2] | reject('eq', 1) | list
(m | selectattr('role', 'in', ['zz'])) is defined
(m | selectattr('role', 'equalto', 'zz') | list) is iterable
'yes' if (m | selectattr('role', 'equalto', 'zz')) else 'no'
m | selectattr('role') | length
d | items | list
undefined_thing | items | list
l | items | list
d | dictsort ~ d | dictsort(reverse=true)
{'b': 2, 'a': 1} | dictsort(by='value')
[1, 2, 3, 4, 5] | batch(2) | list ~ [1, 2, 3] | batch(2, 0) | list ~ [1, 2, 3, 4, 5] | slice(3) | list
'42' | int ~ '4.7' | int ~ 'x' | int ~ 'x' | int(5) ~ '0x1f' | int(0, 16) ~ 3.9 | int ~ ' 7 ' | int ~ '1_0' | int
'4.5' | float ~ 'x' | float ~ 3 | float ~ '1e3' | float ~ 'nan' | float
2.5 | round ~ 3.5 | round ~ 2.675 | round(2) ~ 42 | round ~ 2.1 | round(0, 'ceil') ~ 2.19 | round(1, 'floor')
-3 | abs ~ -2.5 | abs
undefined_thing | default('d') ~ '' | default('d') ~ '' | default('d', true) ~ none | default('d') ~ none | d('x', true)
'a\\nb\\n\\nc' | indent ~ '|' ~ 'a\\nb' | indent(2, true) ~ '|' ~ 'a\\n\\nb' | indent('> ', blank=true)
'foo bar baz qux' | truncate(9) ~ '|' ~ 'foo bar baz qux' | truncate(9, true) ~ '|' ~ 'short' | truncate(9)
'a <b> & "c" \\'d\\'' | e
'%s-%s' | format(1, 'b')
'a b/c?d=é' | urlencode
'one two, three' | wordcount
'x' | center(5) ~ '|'
123 | string + '4'
d | tojson
[1, 'é', none, true, 1.5, {'a': []}, [], {}, (1, 2)] | tojson
d | tojson(indent=2)
[1, [2, {'a': 3}], {}] | tojson(indent=4)
'é "q" \\\\ / \\n \\t \\u2028 😀 <>&\\'' | tojson
'é😀\\x7f' | tojson(ensure_ascii=true)
d | tojson(separators=(',', ':'))
d | tojson(sort_keys=true)
{1: 1, none: 2, true: 3, 1.5: 4} | tojson
undefined_thing | tojson
[undefined_thing] | tojson
m | map(attribute='n') | tojson
1e400 | tojson
n is odd ~ n is even ~ n is divisibleby 7 ~ n is divisibleby(2)
n is number ~ n is integer ~ f is float ~ yes is boolean ~ yes is number ~ yes is integer
s is string ~ d is mapping ~ l is sequence ~ s is sequence ~ d is sequence ~ l is iterable ~ n is iterable
nothing is none ~ nothing is not none ~ yes is true ~ yes is false ~ n is true
n is sameas 7 ~ n is eq 7 ~ n is gt 3 ~ n is in [7, 8] ~ 'a' is in 'abc'
'abc' is lower ~ 'ABC' is upper ~ 'aB' is lower
s is nope
n is not odd and n is odd or 1
not n is odd
undefined_thing is mapping ~ undefined_thing is iterable ~ undefined_thing is none
d.get is callable ~ n is callable
s | nope
-n | abs
- 'a'
1 if yes and not nothing else 2
(l | length) + 1
l | length + 1
[] or {} or 'z'
0 and 1
'a' 'b' "c"
0x1F ~ 0b11 ~ 0o17 ~ 1_000
{'a': 1}.a
{'a': {'b': [1, 2]}}['a']['b'][-1]
dict(a=1, b='x')
dict({'a': 1}, b=2)
namespace(a=1).a
namespace(a=1)
strftime_now('%d %b %Y') ~ strftime_now('%Y-%m-%d %H:%M')
raise_exception('stop')
d.items() | list | first | last
d.a.upper()
s.split()[0].lower()[1:3]
[1, 2, 3][true]
'abc'[1:2, 0]
()
(((1)))
d == d and d != l
[x]
loop
1 is defined is defined
'\\'' ~ "\\"" ~ '\\\\' ~ '\\d'
f ~ f * 2 ~ (f + 0.5)
9223372036854775807 ~ -9223372036854775807
m | map(attribute=0) | list
[[1, 2], [3, 4]] | map(attribute=0) | list ~ [[1, 2], [3, 4]] | map('last') | list
[[3, 'a'], [1, 'b']] | sort ~ ['b', 'a'] | max
l is eq([3, 1, 2]) ~ (l | list == l)
'a' ~ 1 + 2 ~ 'b'
1 ~ 2 * 3
'abc' | list ~ d | list
'x' in ('x', 'y') ~ ('y' in {'y': 1}.keys())
""".strip("\n").split("\n")

STATEMENTS = [
    "{% for x in l %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}"
    "{{ loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }}{% endfor %}",
    "{% for x in l %}{{ loop.previtem is defined }}{{ loop.cycle('a', 'b') }}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}",
    "{% for x in undefined_thing %}a{% else %}none{% endfor %}",
    "{% for x in nothing %}a{% endfor %}",
    "{% for x in n %}a{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for a, b in [[1, 2], [3]] %}{{ a }}{% endfor %}",
    "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}:{{ x }} of {{ loop.length }};{% else %}no{% endfor %}",
    "{% for x in l if x > 9 %}{{ x }}{% else %}no{% endfor %}",
    "{% for c in u %}{{ c }}.{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% break %}",
    "{% for x in l %}{% set y = x %}{% endfor %}{{ y }}",
    "{% set y = 0 %}{% for x in l %}{{ y }}{% set y = x %}{{ y }}{% endfor %}{{ y }}",
    "{% set ns = namespace(y=0) %}{% for x in l %}{% set ns.y = ns.y + x %}{% endfor %}{{ ns.y }}",
    "{% set ns.y = 1 %}",
    "{% set d.y = 1 %}",
    "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% set ns = namespace(a=1) %}{{ ns.b }}|{{ ns.b is defined }}|{{ ns['a'] }}",
    "{% if yes %}{% set q = 1 %}{% else %}{% set q = 2 %}{% endif %}{{ q }}",
    "{% if not q is defined %}{% set q = 'new' %}{% endif %}{{ q }}",
    "{% if false %}a{% elif n == 7 %}b{% elif yes %}c{% else %}d{% endif %}",
    "{% if undefined_thing %}a{% else %}b{% endif %}",
    "{% if undefined_thing.x %}a{% endif %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = [1, 2, 3] %}",
    "{% set x = 1, %}{{ x }}",
    "{% set x %}a{{ n }}b{% endset %}{{ x | upper }}{{ x is string }}",
    "{% set x | upper | replace('A', '-') %}a{{ n }}b{% endset %}{{ x }}",
    "{% set x %}{% set inner = 1 %}{% endset %}{{ inner is defined }}",
    "{% macro m1(a, b=2, c='z') %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m1(1) }}{{ m1(1, c=3) }}{{ m1(1, 2, 3) }}{{ m1() }}",
    "{% macro m1(a) %}{{ a }}{% endmacro %}{{ m1(1, 2) }}",
    "{% macro m1(a) %}{{ a }}{% endmacro %}{{ m1(zz=1) }}",
    "{% macro m1() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m1(1, 2, a=3) }}",
    "{% macro m1(a, b=a) %}{{ b }}{% endmacro %}{{ m1(4) }}",
    "{% macro m1() %}{{ later }}{% endmacro %}{% set later = 5 %}{{ m1() }}",
    "{% macro m1() %}{% set leaked = 1 %}{% endmacro %}{{ m1() }}{{ leaked is defined }}",
    "{% macro m1(x) %}{% if x > 0 %}{{ x }}{{ m1(x - 1) }}{% endif %}{% endmacro %}{{ m1(5) }}",
    "{% macro m1() %}<{{ caller() }}>{% endmacro %}{% call m1() %}body{{ n }}{% endcall %}",
    "{% macro m1() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m1() %}{{ a + b }}{% endcall %}",
    "{% macro m1() %}x{% endmacro %}{% call m1() %}y{% endcall %}",
    "{% macro m1() %}{{ caller is defined }}{% endmacro %}{{ m1() }}",
    "{% macro m1(a) %}{{ a }}{% endmacro %}{{ m1.name }}{{ m1 is callable }}{{ m1(1) is string }}",
    "{{ m1() }}{% macro m1() %}x{% endmacro %}",
    "{% macro a() %}1{% endmacro %}{% macro b() %}{{ a() }}2{% endmacro %}{{ b() }}",
    "{% for x in l %}{{ m1 is defined }}{% macro m1() %}{{ x }}{% endmacro %}{{ m1() }}{% endfor %}",
    "{% filter upper %}a{{ n }}b{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
    "{% with %}{% set z = 1 %}{% endwith %}{{ z is defined }}",
    "{% raw %}{{ x }}{% if %}{% endraw %}!",
    "a {%- raw -%} {{ b }} {%- endraw -%} c",
    "{# comment #}x{# multi\nline #}y",
    "a\n  {# c #}\nb",
    "a\n  {% if yes %}\n  b\n  {% endif %}\nc\n",
    "a\n  {%+ if yes %}\n  b\n  {%+ endif %}\nc",
    "a\n  {%- if yes -%}\n  b\n  {%- endif -%}\n c",
    "  {{ n }}  \n  {{- n -}}  \n  x",
    "a {% if yes +%}\nb{% endif %}",
    "a\n\t {% set x = 1 %} \nb",
    "{% if yes %} \n x{% endif %}\n\n",
    "x {%- for a in l %} {{ a }} {%- endfor %} y",
    "{% for a in l -%}\n {{ a }}\n{% endfor %}",
    "line1\r\nline2\rline3\n\n",
    "{{ 'a\nb' }}",
    "{{ n }}\n",
    "{{- '' }}\n\n{{ n }}",
    "{%- set x = 1 -%}\n\n  {{ x }}",
    "{#- a -#}  b  {#- c -#}",
    "   {#- a #}   b\n{#+ c +#}\nd",
    "{{ '{{' }}{{ '}}' }}{{ '{%' }}",
    "{ { % } {x} {",
    "{{ {'a': {'b': 1}}.a.b }}",
    "{{ n }",
    "{% if yes %}",
    "{% endif %}",
    "{% nope %}",
    "{% for x in l %}{% endif %}",
    "{{ }}",
    "{{ 1 2 }}",
    "{{ (1 }}",
    "{{ 1) }}",
    "{{ 'abc }}",
    "{{ a.1b }}",
    "{{ a ! b }}",
    "{% set 1 = 2 %}",
    "{% set true = 2 %}",
    "{% if yes %}{{ s | nope }}{% endif %}",
    "{% if false %}{{ s | nope }}{% endif %}x",
    "{% if false %}{% for x in l %}{{ s | nope }}{% endfor %}{% endif %}x",
    "{{ (s | nope) if false else 'x' }}",
    "{% include 'x' %}",
    "{% generation %}abc{{ n }}{% endgeneration %}",
    "pre {% for x in l %}[{% generation %}{{ x }}é{% endgeneration %}]{% endfor %}",
    "é{% if yes %}{% generation %}{% set q = 1 %}a{% generation %}b{% endgeneration %}c{% endgeneration %}{% endif %}{{ q is defined }}",
    "ab{% macro m1() %}x{% generation %}y{% endgeneration %}z{% endmacro %}{{ m1() }}{% set t %}q{% generation %}r{% endgeneration %}{% endset %}{{ t }}",
    "  {% generation %}\n  a\n  {% endgeneration %}\nb",
    "{% for m1 in m %}{% for k, v in m1.items() %}{% if loop.first %}{{ k }}{% endif %}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% for x in l %}{% set outer = loop %}{% for y in w %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% set x = [] %}{% set x = x + [1] %}{% set x = x + [2] %}{{ x }}",
    "{% set it = l | reverse %}{% for x in it %}{{ x }}{% endfor %}|{% for x in it %}{{ x }}{% endfor %}",
    "{% set it = m | map(attribute='n') %}{{ it | first }}{{ it | list }}{{ it | list }}",
    "{% for x in l | sort %}{{ x }}{% endfor %}",
    "{% for x in m | selectattr('role', 'equalto', 'user') %}{{ loop.index }}/{{ loop.length }}{% endfor %}",
    "{% for x in 1, 2, 3 %}{{ x }}{% endfor %}",
    "{% for x in (l if yes else w) %}{{ x }}{% endfor %}",
    "{% set messages = messages[1:] %}{{ messages }}{{ tools }}{{ documents }}{{ add_generation_prompt }}",
    "{{ bos_token }}{{ eos_token }}",
    "{% print n, s %}",
    "{% set f2 = s.upper %}{{ f2() }}",
    "{% set x = 'a' if yes %}{{ x }}",
    "{% if 1 < n <= 7 and s %}ok{% endif %}",
    "{{ [1,\n 2,\n 3][\n1] }}",
    "{% for x in range(3) %}{{ x }}{% endfor %}{% for x in range(2, 8, 3) %}{{ x }}{% endfor %}",
    "{{ 'x' if loop is defined else 'y' }}{% for i in [1] %}{{ loop is defined }}{% endfor %}",
    "{% for i in l %}{% else %}{{ i }}{% endfor %}{{ i is defined }}",
]


def all_snippets():
    for expression in EXPRESSIONS:
        yield "{{ " + expression + " }}"
    yield from STATEMENTS
