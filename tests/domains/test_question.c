/* Questions to tokens and back, with the lexicons under examples/models and with small ones made here.
 *
 * Each table lists questions, the tokens the model must see, and the values of its placeholders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers.h"
#include "lexicon.h"
#include "question.h"

/* Included after helpers.h, since it uses names from there. */
#include "context_fixture.h"

/* Return tokens joined by spaces, malloc()ed. */
static char *joined(const rill_slice *tokens, size_t count)
{
    size_t length = 1;
    for (size_t i = 0; i < count; i++) length += tokens[i].length + 1;
    char *line = malloc(length), *pos = line;
    for (size_t i = 0; i < count; i++)
        pos += sprintf(pos, "%s%.*s", i ? " " : "", (int)tokens[i].length, tokens[i].data);
    *pos = '\0';
    return line;
}

/* Return "c0=austin_tx:c s0=texas:s", malloc()ed. */
static char *listed(const rill_mentions *mentions)
{
    char *line = malloc(mentions->bytes.length + 2 * mentions->count + 1), *pos = line;
    *pos = '\0';
    for (size_t i = 0; i < mentions->count; i++) {
        const struct rill_mention *m = &mentions->entries[i];
        pos += sprintf(pos, "%s%.*s=%.*s", i ? " " : "", (int)m->placeholder_length,
                       mentions->bytes.data + m->placeholder, (int)m->constant_length,
                       mentions->bytes.data + m->constant);
    }
    return line;
}

/* A question object with its lexicon, and the result of its last line. */
typedef struct text_fixture {
    rill_lexicon *lexicon;
    rill_question *question;
    rill_mentions mentions;
    const rill_slice *tokens;
    size_t count;
} text_fixture;

static text_fixture text_fixture_open(const char *lexicon_text)
{
    text_fixture d = {.mentions = {.bytes = {.ctx = ctx}}};
    if (lexicon_text &&
        rill_lexicon_read(ctx, "lexicon.tsv", lexicon_text, strlen(lexicon_text), &d.lexicon) != RILL_OK)
        fail_msg("%s", rill_error(ctx));
    assert_int_equal(rill_question_open(ctx, d.lexicon, &d.question), RILL_OK);
    return d;
}

static void text_fixture_clear(text_fixture *d)
{
    rill_mentions_clear(&d->mentions);
    rill_question_close(d->question);
    rill_lexicon_close(d->lexicon);
}

static rill_status text_fixture_read(text_fixture *d, const char *line, size_t length, int tokenized)
{
    return rill_question_prepare(d->question, line, length, tokenized, &d->tokens, &d->count, &d->mentions);
}

static void expect(text_fixture *d, const char *question, const char *tokens, const char *mentions)
{
    if (text_fixture_read(d, question, strlen(question), 0) != RILL_OK) fail_msg("%s: %s", question, rill_error(ctx));
    char *got_tokens = joined(d->tokens, d->count), *got_mentions = listed(&d->mentions);
    if (strcmp(got_tokens, tokens) || strcmp(got_mentions, mentions))
        fail_msg("%s\n   gives %s | %s\nand not %s | %s", question, got_tokens, got_mentions, tokens, mentions);
    free(got_tokens);
    free(got_mentions);
}

/* --- the lexicons of the example models --------------------------------------------------------------------------- */

typedef struct example {
    const char *question, *tokens, *mentions;
} example;

static const example geo_examples[] = {
    {"Which of the fifty states border Texas?", "which of the fifti state border s0", "s0=texas:s"},
    {"What is New York City's population?", "what is c0 popul", "c0=new_york_ny:c"},
    {"How many miles long is the Mississippi River?", "how mani mile long is the r0", "r0=mississippi_river:r"},
    {"Tell me the length of the Mississippi", "tell me the length of the r0", "r0=mississippi_river:r"},
    {"Which rivers do we meet in Mississippi?", "which river do we meet in s0", "s0=mississippi:s"},
    {"Name the states that the Ohio runs through.", "name the state that the r0 run through", "r0=ohio_river:r"},
    {"What's the capital of Texas?", "what is the capit of s0", "s0=texas:s"},
    {"What is Texas's capital?", "what is s0 capit", "s0=texas:s"},
    {"What are California's major cities?", "what are s0 major citi", "s0=california:s"},
    {"How many people live in Portland, Oregon?", "how mani peopl live in c0", "c0=portland_or:c"},
    {"How many people live in Portland, Maine?", "how mani peopl live in c0", "c0=portland_me:c"},
    {"Where is Springfield, Missouri?", "where is c0", "c0=springfield_mo:c"},
    {"Tell me the area of Washington", "tell me the area of s0", "s0=washington:s"},
    {"What is the area of Washington, D.C.?", "what is the area of c0", "c0=washington_dc:c"},
    {"Which is the third largest city in the U.S.?", "which is the third largest citi in the co0", "co0=usa:co"},
    {"Tell us the highest mountain in the United States of America!", "tell me the highest mountain in the co0",
     "co0=usa:co"},
    {"Is Mount Rainier in Oregon?", "is m0 in s0", "m0=mount_rainier:m s0=oregon:s"},
    {"Is Mt. McKinley in Canada?", "is m0 in canada", "m0=mount_mckinley:m"},
    {"How tall is Pikes Peak?", "how high is m0", "m0=pikes_peak:m"},
    {"In which states is a city named Springfield?", "in which state is a citi n0", "n0=springfield:n"},
    {"How many cities called \"Salem\" are there in the USA?", "how mani citi n0 are there in the co0",
     "n0=salem:n co0=usa:co"},
    {"Which state has a river named Red?", "which state has a river n0", "n0=red:n"},
    {"Is the Red River in Texas?", "is the r0 in s0", "r0=red_river:r s0=texas:s"},
    {"how long is the river Ohio", "how long is the r0", "r0=ohio_river:r"},
    {"Name all the rivers in West Virginia.", "name all the river in s0", "s0=west_virginia:s"},
    {"Is Kansas City in Kansas?", "is c0 in s0", "c0=kansas_city_mo:c s0=kansas:s"},
    {"What states are adjacent to Nevada?", "what state border s0", "s0=nevada:s"},
    {"How many inhabitants are there in Chicago?", "how mani peopl are there in c0", "c0=chicago_il:c"},
    {"Do more people reside in Salt Lake City?", "do more peopl live in c0", "c0=salt_lake_city_ut:c"},
    {"Tell me Rhode Island's population density", "tell me s0 popul densiti", "s0=rhode_island:s"},
    {"Which state is the densest?", "which state is the most dens", ""},
    {"List the lakes in Minnesota.", "name the lake in s0", "s0=minnesota:s"},
    {"What is the elevation of the highest peak in Colorado?", "what is the elev of the highest mountain in s0",
     "s0=colorado:s"},
    {"is there a lake in the state of new york", "is there a lake in the state of s0", "s0=new_york:s"},
    {"does the city of new york have a river", "doe the citi of c0 have a river", "c0=new_york_ny:c"},
    {"name the states next to the rio grande", "name the state next to the r0", "r0=rio_grande:r"},
    {"Name the states next to the Río Grande.", "name the state next to the r0", "r0=rio_grande:r"},
    {"is the RI\xCC\x81O GR\u00c3NDE's mouth in TEXÄS", "is the r0 mouth in s0", "r0=rio_grande:r s0=texas:s"},
    {"is Zürich in naïve señor's Łódź", "is zürich in naïv señor łódź", ""}, /* no word is in the lexicon */
    {"Which states do the Missouri and the Colorado flow through?", "which state do the r0 and the r1 flow through",
     "r0=missouri_river:r r1=colorado_river:r"},
    {"How many states border Missouri and Colorado?", "how mani state border s0 and s1", "s0=missouri:s s1=colorado:s"},
    {"  tell me \t the capital of   georgia  ", "tell me the capit of s0", "s0=georgia:s"},
    {"what states share a border with iowa", "what state border s0", "s0=iowa:s"},
    {"how many American cities have more people than Boston", "how mani co0 citi have more peopl than c0",
     "co0=usa:co c0=boston_ma:c"},
    {"Give me all the big cities in Virginia", "give me all the big citi in s0", "s0=virginia:s"},
    {"What's the biggest city in Wyoming & Montana?", "what is the biggest citi in s0 and s1",
     "s0=wyoming:s s1=montana:s"},
    {"is st. louis, missouri, a capital", "is c0 a capit", "c0=st_louis_mo:c"},
    {"what mountains are higher than mount whitney", "what mountain are -er than m0", "m0=mount_whitney:m"},
    {"what is the capital of Washington state?", "what is the capit of s0", "s0=washington:s"},
    {"what is the total area of all the states that border the Snake River",
     "what is the total area of all the state that border the r0", "r0=snake_river:r"},
};

static const example jobs_examples[] = {
    {"Do any jobs in Austin use Java?", "do ani job in locid0 use languageid0", "locid0=austin languageid0=java"},
    {"Are there any jobs for C++ programmers?", "are there ani job for languageid0 titleid0",
     "languageid0='c++' titleid0='Programmer'"},
    {"Show me jobs using C# on Windows NT.", "show me job use languageid0 on platformid0",
     "languageid0='c#' platformid0='windows nt'"},
    {"What jobs pay at least $50,000 per year?", "what job pay at least num_salary per year", "num_salary=50000"},
    {"What jobs pay more than 60k a year in Dallas, Texas?", "what job pay more than num_salary a year in locid0",
     "num_salary=60000 locid0=dallas"},
    {"Which of them require 5 years of experience?", "which of them requir year0 year of experi", "year0=5"},
    {"Which jobs require five years' experience?", "which job requir year0 year experi", "year0=5"},
    {"Have you any jobs that don't require a degree?", "have you ani job that dont requir a degre", ""},
    {"I'd like a job in San Francisco", "id like a job in locid0", "locid0='san francisco'"},
    {"What's available at Microsoft?", "what avail at companyid0", "companyid0='Microsoft'"},
    {"Which jobs require a bachelor's degree?", "which job requir a degid0 degre", "degid0='BS'"},
    {"Which jobs require a Ph.D. in AI?", "which job requir a degid0 in areaid0", "degid0='PhD' areaid0=ai"},
    {"Do you have jobs that need a BS in computer science?", "do you have job that need a degid0", "degid0='BSCS'"},
    {"I want jobs at IBM", "i want job at companyid0", "companyid0='IBM'"},
    {"name all the jobs on ibm", "name all the job on platformid0", "platformid0=ibm"},
    {"What jobs at Dell's Austin office need Perl?", "what job at companyid0 locid0 offic need languageid0",
     "companyid0='Dell' locid0=austin languageid0=perl"},
    {"Show me web developer jobs in New York City", "show me titleid0 job in locid0",
     "titleid0='Web Developer' locid0='new york'"},
    {"Are there software engineers wanted in Seattle, WA?", "are there titleid0 want in locid0",
     "titleid0='Software Engineer' locid0=seattle"},
    {"What system administrator jobs are there on UNIX?", "what titleid0 job are there on platformid0",
     "titleid0='System Administrator' platformid0=unix"},
    {"list jobs that use tcp/ip", "list job that use areaid0", "areaid0='tcp/ip'"},
    {"Which companies hire Prolog programmers in Houston?", "which compani hire languageid0 titleid0 in locid0",
     "languageid0=prolog titleid0='Programmer' locid0=houston"},
    {"Are there jobs in the United States?", "are there job in locid0", "locid0=usa"},
    {"Find me a job with a salary above 40000 dollars", "find me a job with a salari over num_salary dollar",
     "num_salary=40000"},
    {"who needs a technical writer who knows latex", "who need a titleid0 who know languageid0",
     "titleid0='Technical Writer' languageid0=latex"},
    {"jobs using PL/1 or PL/SQL", "job use languageid0 or languageid1", "languageid0='pl/1' languageid1='pl/sql'"},
    {"jobs for an ic design engineer in silicon valley", "job for an titleid0 in locid0",
     "titleid0='Ic Design Engineer' locid0='silicon valley'"},
    {"What jobs don't need Visual Basic?", "what job dont need languageid0", "languageid0='visual basic'"},
    {"What jobs desire an MBA and require a BA?", "what job desir an degid0 and requir a degid1",
     "degid0='MBA' degid1='BA'"},
    {"Are there jobs in Boston or Cambridge for Lisp hackers?",
     "are there job in locid0 or locid1 for languageid0 hacker", "locid0=boston locid1=cambridge languageid0=lisp"},
    {"jobs that use Microsoft Excel or Microsoft Word", "job that use applicationid0 or applicationid1",
     "applicationid0=excel applicationid1='microsoft word'"},
    {"what jobs pay $20 an hour", "what job pay num_salary an hour", "num_salary=20"},
    {"i want to earn 100,000 a year", "i want to earn num_salary a year", "num_salary=100000"},
    {"which jobs need 10+ years of experience in cobol", "which job need year0 year of experi in languageid0",
     "year0=10 languageid0=cobol"},
    {"what jobs require at least 1 year of experience with sap",
     "what job requir at least year0 year of experi with applicationid0", "year0=1 applicationid0=sap"},
    {"are there jobs at NASA's JPL", "are there job at companyid0 companyid1", "companyid0='NASA' companyid1='JPL'"},
    {"what jobs with Sun Microsystems use Java", "what job with companyid0 use languageid0",
     "companyid0='Sun' languageid0=java"},
    {"what jobs use java on sun workstations", "what job use languageid0 on platformid0 machin",
     "languageid0=java platformid0=sun"},
    {"what jobs are there which do not use windows 95", "what job are there which do not use platformid0",
     "platformid0='windows 95'"},
    {"does Apple need a project manager in Cupertino?", "doe companyid0 need a titleid0 in locid0",
     "companyid0='Apple' titleid0='Project Manager' locid0=cupertino"},
    {"what jobs are in st. louis, mo", "what job are in locid0", "locid0='st louis'"},
    {"which jobs require both html and javascript", "which job requir both languageid0 and languageid1",
     "languageid0=html languageid1=javascript"},
    {"show the jobs with IBM that use DB2 on OS/2 and AIX",
     "show the job with companyid0 that use applicationid0 on platformid0 and platformid1",
     "companyid0='IBM' applicationid0=db2 platformid0='os/2' platformid1=aix"},
};

static const example atis_examples[] = {
    {"Show me all flights from Boston to Denver on Monday morning.",
     "show me all flights from ci0 to ci1 on da0 morning", "ci0=boston:ci ci1=denver:ci da0=monday:da"},
    {"Show us the flights from BOS to DEN", "show me the flights from ap0 to ap1", "ap0=bos:ap ap1=den:ap"},
    {"Are there any non-stop flights from New York City to Los Angeles, California?",
     "are there any nonstop flights from ci0 to ci1", "ci0=new_york:ci ci1=los_angeles:ci"},
    {"What's the cheapest one-way fare from Atlanta to Dallas/Fort Worth?",
     "what's the cheapest one way fare from ci0 to ci1", "ci0=atlanta:ci ci1=dallas:ci"},
    {"I need a flight that leaves before 5:30 p.m.", "i need a flight that leaves before ti0", "ti0=1730:ti"},
    {"I need a flight that leaves after 5:30 PM on Tuesday", "i need a flight that leaves after ti0 on da0",
     "ti0=1730:ti da0=tuesday:da"},
    {"flights from San Francisco to Washington, D.C. at 10 o'clock in the morning", "flights from ci0 to ci1 at ti0",
     "ci0=san_francisco:ci ci1=washington:ci ti0=1000:ti"},
    {"flights from Boston to Philadelphia around 3", "flights from ci0 to ci1 around ti0",
     "ci0=boston:ci ci1=philadelphia:ci ti0=1500:ti"},
    {"flights from Boston to Philadelphia arriving at 1700 hours", "flights from ci0 to ci1 arriving at ti0",
     "ci0=boston:ci ci1=philadelphia:ci ti0=1700:ti"},
    {"flights from Boston to Philadelphia between 8 am and 11 am", "flights from ci0 to ci1 between ti0 and ti1",
     "ci0=boston:ci ci1=philadelphia:ci ti0=800:ti ti1=1100:ti"},
    {"flights from pittsburgh to baltimore after midnight", "flights from ci0 to ci1 after ti0",
     "ci0=pittsburgh:ci ci1=baltimore:ci ti0=0:ti"},
    {"list flights on the 4th of July", "list flights on the dn0 of mn0", "dn0=4:dn mn0=july:mn"},
    {"list flights on July 4th, 1993", "list flights on mn0 dn0 yr0", "mn0=july:mn dn0=4:dn yr0=1993:yr"},
    {"list flights on the twenty-third of may", "list flights on the dn0 of mn0", "dn0=23:dn mn0=may:mn"},
    {"what flights may i take on may fifth", "what flights may i take on mn0 dn0", "mn0=may:mn dn0=5:dn"},
    {"flights leaving on december 25 and returning on january 2nd",
     "flights leaving on mn0 dn0 and returning on mn1 dn1", "mn0=december:mn dn0=25:dn mn1=january:mn dn1=2:dn"},
    {"Which of them cost less than 300 dollars?", "which of them cost less than do0", "do0=300:do"},
    {"Which flights cost less than $300?", "which flights cost less than do0", "do0=300:do"},
    {"Which flights cost under 1,000 dollars round-trip?", "which flights cost under do0 round trip", "do0=1000:do"},
    {"How much is United flight 415?", "how much is al0 flight fn0", "al0=ua:al fn0=415:fn"},
    {"how much is flight UA 201 from Denver to Chicago", "how much is flight al0 fn0 from ci0 to ci1",
     "al0=ua:al fn0=201:fn ci0=denver:ci ci1=chicago:ci"},
    {"Does American Airlines fly a 747 to San Diego?", "does al0 fly a ac0 to ci0",
     "al0=aa:al ac0=747:ac ci0=san_diego:ci"},
    {"Which airline goes by US?", "which airline goes by al0", "al0=us:al"},
    {"which airline has the code as", "which airline has the code al0", "al0=as:al"},
    {"do tell me what fare code Q means", "do tell me what fare code fb0 means", "fb0=q:fb"},
    {"what does the fare code QX mean and what does fare code y mean",
     "what does the fare code fb0 mean and what does fare code fb1 mean", "fb0=qx:fb fb1=y:fb"},
    {"What is meant by restriction AP/57?", "what is meant by restriction rc0", "rc0=ap_57:rc"},
    {"explain restriction ap 80", "explain restriction rc0", "rc0=ap_80:rc"},
    {"what does the meal code s stand for", "what does the meal code rc0 stand for", "rc0=s:rc"},
    {"ground transportation from Logan Airport to downtown Boston", "ground transportation from ap0 to downtown ci0",
     "ap0=bos:ap ci0=boston:ci"},
    {"flights from LaGuardia to O'Hare International Airport", "flights from ap0 to ap1", "ap0=lga:ap ap1=ord:ap"},
    {"flights from JFK to LAX on TWA", "flights from ap0 to ap1 on al0", "ap0=jfk:ap ap1=lax:ap al0=tw:al"},
    {"how many seats are there on a boeing 767", "how many seats are there on a boeing ac0", "ac0=767:ac"},
    {"what is the seating capacity of the DC-10", "what is the seating capacity of the ac0", "ac0=dc10:ac"},
    {"what is the capacity of a 733 plane", "what is the capacity of a ac0 plane", "ac0=733:ac"},
    {"first class fares on Continental's flights to Houston", "first class fares on al0 's flights to ci0",
     "al0=co:al ci0=houston:ci"},
    {"what is delta's schedule of morning flights to atlanta", "what is al0 's schedule of morning flights to ci0",
     "al0=dl:al ci0=atlanta:ci"},
    {"show me flights from Montréal to Toronto, Canada", "show me flights from ci0 to ci1",
     "ci0=montreal:ci ci1=toronto:ci"},
    {"flights from tampa to milwaukee on saturdays", "flights from ci0 to ci1 on da0",
     "ci0=tampa:ci ci1=milwaukee:ci da0=saturday:da"},
    {"flights from tampa to milwaukee on saturday's", "flights from ci0 to ci1 on da0",
     "ci0=tampa:ci ci1=milwaukee:ci da0=saturday:da"},
    {"i want to go from Kansas City to Chicago next Wednesday at 6", "i want to go from ci0 to ci1 next da0 at ti0",
     "ci0=kansas_city:ci ci1=chicago:ci da0=wednesday:da ti0=1800:ti"},
    {"flights to oakland that arrive no later than 9", "flights to ci0 that arrive no later than ti0",
     "ci0=oakland:ci ti0=900:ti"},
    {"US Air flight 269 from Boston at 4:45pm", "al0 flight fn0 from ci0 at ti0",
     "al0=us:al fn0=269:fn ci0=boston:ci ti0=1645:ti"},
    {"flights from memphis to las vegas at two thirty in the afternoon", "flights from ci0 to ci1 at ti0",
     "ci0=memphis:ci ci1=las_vegas:ci ti0=1430:ti"},
    {"what flights leave at noon on the first of june", "what flights leave at ti0 on the dn0 of mn0",
     "ti0=1200:ti dn0=1:dn mn0=june:mn"},
};

static void examples_come_out(const char *model, const example *examples, size_t count)
{
    char name[128];
    snprintf(name, sizeof name, "../../examples/models/%s/lexicon.tsv", model);
    char *path = data_path(name);
    text_fixture d = {.mentions = {.bytes = {.ctx = ctx}}};
    if (rill_lexicon_open(ctx, path, &d.lexicon) != RILL_OK) fail_msg("%s", rill_error(ctx));
    free(path);
    assert_int_equal(rill_question_open(ctx, d.lexicon, &d.question), RILL_OK);
    for (size_t i = 0; i < count; i++) expect(&d, examples[i].question, examples[i].tokens, examples[i].mentions);
    text_fixture_clear(&d);
}

static void geo_questions_take_the_form_of_the_data(void **state)
{
    (void)state;
    examples_come_out("geo", geo_examples, sizeof geo_examples / sizeof *geo_examples);
}

static void jobs_questions_take_the_form_of_the_data(void **state)
{
    (void)state;
    examples_come_out("jobs", jobs_examples, sizeof jobs_examples / sizeof *jobs_examples);
}

static void atis_questions_take_the_form_of_the_data(void **state)
{
    (void)state;
    examples_come_out("atis", atis_examples, sizeof atis_examples / sizeof *atis_examples);
}

/* --- a small lexicon ---------------------------------------------------------------------------------------------- */

#define SMALL                                                                             \
    "@format\t1\n@stem\tenglish\n@apostrophe\tdrop\n@possessive\tkeep\n@afternoon\t1-6\n" \
    "@type\tp\n@type\tq\n@type\tt\n@type\tpay\tplain\n"                                   \
    "@prefer\tq\tthe _\n@prefer\tq\tcode _ {end}\n"                                       \
    "@rule\tt\t(at) {clock}\t{}:t\n@rule\tt\t{clock} in the evening\t{pm}:t\n"            \
    "@rule\tpay\t{int:1000-999999}\t{}\n@rule\tp\tnamed {word}\t{}:n\n"                   \
    "@rewrite\tbig deal\tlarge matter\n@keep\t/\n"                                        \
    "ohio\tp\tohio:p\tstate\nohio\tq\tohio:q\triver\triver\nred\tq\tred:q\t!river\n"      \
    "x\tq\tx:q\t\t\tcue\nnew york\tp\tny:p\tcity\nnew york city hall\tp\thall:p\n"

static void longest_match_wins(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "new york", "p0", "p0=ny:p");
    expect(&d, "new york city", "p0", "p0=ny:p");
    expect(&d, "new york city hall", "p0", "p0=hall:p");
    expect(&d, "new york city halls", "p0 hall", "p0=ny:p");
    expect(&d, "new new york", "new p0", "p0=ny:p");
    text_fixture_clear(&d);
}

static void cue_words_choose_the_type(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "ohio", "p0", "p0=ohio:p");
    expect(&d, "the ohio", "the q0", "q0=ohio:q");
    expect(&d, "the ohio state", "the p0", "p0=ohio:p");
    expect(&d, "river ohio, ohio river", "q0 q0", "q0=ohio:q");
    expect(&d, "red", "red", "");
    expect(&d, "the Red River", "the q0", "q0=red:q");
    expect(&d, "x code x", "x code q0", "q0=x:q");
    expect(&d, "code x is x", "code x is x", "");
    text_fixture_clear(&d);
}

static void a_constant_has_one_number_in_a_question(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "ohio and new york and ohio", "p0 and p1 and p0", "p0=ohio:p p1=ny:p");
    expect(&d, "new york", "p0", "p0=ny:p");
    text_fixture_clear(&d);
}

static void placeholders_typed_literally_stay_and_keep_their_numbers(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "p1 and ohio and P0", "p1 and p2 and p0", "p2=ohio:p");
    expect(&d, "p10 and ohio", "p10 and p11", "p11=ohio:p");
    expect(&d, "q0 and the ohio", "q0 and the q1", "q1=ohio:q"); /* placeholders are numbered per type */
    expect(&d, "pay and pay0 and p", "pay and pay0 and p", "");
    text_fixture_clear(&d);
}

static void numbers_and_clocks_are_read(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "40,000 or $1,500.", "pay or $ pay", "pay=40000 pay=1500");
    expect(&d, "60k", "pay", "pay=60000");
    expect(&d, "two thousand five hundred and ten", "pay", "pay=2510");
    expect(&d, "at 5", "at t0", "t0=1700:t");
    expect(&d, "at 9:30", "at t0", "t0=930:t");
    expect(&d, "9:30 in the evening", "t0", "t0=2130:t");
    expect(&d, "at 5p.m", "at 5pm", "");
    expect(&d, "at 5p.z", "at 5p z", "");
    expect(&d, "at 25", "at 25", "");
    text_fixture_clear(&d);
}

/* Classes in @rule: among others, years in all forms, a class without a range that matches 0, and the beginning of the
 * question. */
static void rule_classes(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open("@format\t1\n@type\tn\n@type\ts\n@type\ty\n@rule\tn\t(count) {int}\t{}:n\n"
                                       "@rule\ts\t(oh|{start}) {word} (now)\t{}:s\n@rule\ty\t{year}\t{}:y\n");
    expect(&d, "count 0 and", "count n0 and", "n0=0:n");
    expect(&d, "count 123456789012 and", "count n0 and", "n0=123456789012:n");
    expect(&d, "count 1234567890123 and", "count 1234567890123 and", "");
    expect(&d, "go now", "s0 now", "s0=go:s");
    expect(&d, "oh go now", "oh s0 now", "s0=go:s");
    expect(&d, "in 1993", "in y0", "y0=1993:y");
    expect(&d, "1900 to 2099", "y0 to y1", "y0=1900:y y1=2099:y");
    expect(&d, "nineteen ninety three", "y0", "y0=1993:y");
    expect(&d, "nineteen hundred and ten", "y0", "y0=1910:y");
    expect(&d, "two thousand five, two thousand and five", "y0 y0", "y0=2005:y");
    expect(&d, "twenty twenty six or twenty ten", "y0 or y1", "y0=2026:y y1=2010:y");
    static const char *const none[] = {"1899",           "2100",          "eighteen ninety",
                                       "19 ninety",      "nineteen nine", "twenty one hundred",
                                       "nineteenth ten", "thirty ten"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) expect(&d, none[i], none[i], "");
    text_fixture_clear(&d);
}

static void words_are_rewritten_stemmed_and_cut(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "That's a BIG deal", "that a larg matter", "");
    expect(&d, "I don't do one-way cities / either", "i dont do one way citi / either", "");
    expect(&d, "\u00abStates\u00bb \u2014 Ohio\u2019s", "state p0 's", "p0=ohio:p");
    expect(&d, "Ohi\u00f6's Ohi\u00f6ab", "p0 's ohi\u00f6ab", "p0=ohio:p");
    expect(&d, "named O'Hare", "p0", "p0=ohare:n");
    expect(&d, "\u00c9t\u00c9 \u0416", "\u00e9t\u00e9 \u0436", "");
    text_fixture_clear(&d);
}

static void placeholders_are_restored_after_question_and_lexicon_are_gone(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    expect(&d, "ohio and new york", "p0 and p1", "p0=ohio:p p1=ny:p");
    rill_mentions mentions = d.mentions;
    d.mentions = (rill_mentions){.bytes = {.ctx = ctx}};
    text_fixture_clear(&d);
    rill_slice word = rill_mentions_constant(&mentions, "p1", 2);
    assert_int_equal(word.length, 4);
    assert_memory_equal(word.data, "ny:p", 4);
    const char *other = "p2";
    word = rill_mentions_constant(&mentions, other, 2);
    assert_ptr_equal(word.data, other);
    assert_int_equal(word.length, 2);
    rill_mentions_clear(&mentions);
}

/* --- lines of every kind ------------------------------------------------------------------------------------------ */

static void tokenized_lines_are_only_split(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    static const char line[] = " What's\tOhio ?\x01 p0  (x) ";
    assert_int_equal(text_fixture_read(&d, line, sizeof line - 1, 1), RILL_OK);
    char *tokens = joined(d.tokens, d.count);
    assert_string_equal(tokens, "What's Ohio ? p0 (x)");
    assert_int_equal(d.mentions.count, 0);
    free(tokens);
    text_fixture_clear(&d);
}

static void empty_lines_have_no_tokens(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    static const char *const lines[] = {"", " ", "\t\r\n", " ?! ... ", "\"\" () '"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) expect(&d, lines[i], "", "");
    assert_int_equal(text_fixture_read(&d, "", 0, 1), RILL_OK);
    assert_int_equal(d.count, 0);
    text_fixture_clear(&d);
}

static void control_characters_are_spaces(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    /* Also bidirectional control characters: U+200E, U+202A, U+2066, U+061C. */
    static const char line[] = "\xe2\x80\x8enew\x07york\0\xe2\x80\xaaohio\xe2\x81\xa6\x7f"
                               "a\xd8\x9c";
    assert_int_equal(text_fixture_read(&d, line, sizeof line - 1, 0), RILL_OK);
    char *tokens = joined(d.tokens, d.count);
    assert_string_equal(tokens, "p0 p1 a");
    free(tokens);
    text_fixture_clear(&d);
}

static void bytes_that_are_not_utf8_are_named(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    static const char *const lines[] = {"ohio\xff", "\xc3\xa9t\xe9 x", "ab\xed\xa0\x80", "a\xc0\xaf"};
    static const char *const sentences[] = {
        "the line is not UTF-8 at byte 5 (0xff)", "the line is not UTF-8 at byte 4 (0xe9)",
        "the line is not UTF-8 at byte 3 (0xed)", "the line is not UTF-8 at byte 2 (0xc0)"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int tokenized = 0; tokenized < 2; tokenized++) {
            assert_int_equal(text_fixture_read(&d, lines[i], strlen(lines[i]), tokenized), RILL_ERR_INPUT);
            assert_string_equal(rill_error(ctx), sentences[i]);
            assert_int_equal(d.mentions.count, 0);
        }
    expect(&d, "ohio", "p0", "p0=ohio:p");
    text_fixture_clear(&d);
}

static void without_a_lexicon_a_line_is_lowered_and_cut(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(NULL);
    expect(&d, "Don't stop, 'Ohio'!", "don't stop ohio", "");
    text_fixture_clear(&d);
}

/* Return 100,000 tokens of all kinds, malloc()ed. */
static char *long_line(size_t *length)
{
    static const char *const words[] = {"ohio",  "new",   "york", "at",     "5",       "named", "w17",
                                        "12345", "river", "the",  "cities", "(((x)))", "big",   "two"};
    enum { KINDS = sizeof words / sizeof *words };
    char *line = malloc(100000 * 8), *pos = line;
    assert_non_null(line);
    for (size_t i = 0; i < 100000; i++) pos += sprintf(pos, "%s ", words[(i * i + i / 7) % KINDS]);
    *length = (size_t)(pos - line);
    return line;
}

static void a_second_line_of_the_same_length_allocates_nothing(void **state)
{
    (void)state;
    text_fixture d = text_fixture_open(SMALL);
    size_t length;
    char *line = long_line(&length);
    assert_int_equal(text_fixture_read(&d, line, length, 0), RILL_OK);
    assert_in_range(d.count, 50000, 100000);
    size_t count = d.count;
    long calls = memory.calls;
    assert_int_equal(text_fixture_read(&d, line, length, 0), RILL_OK);
    assert_int_equal(d.count, count);
    assert_int_equal(memory.calls, calls);
    free(line);
    text_fixture_clear(&d);
}

static void every_refused_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    static const char question[] = "named zed, the ohio at 5 or new york's 40,000";
    rill_status status = RILL_ERR_MEMORY;
    for (long allowed = 0; status == RILL_ERR_MEMORY; allowed++) {
        assert_in_range(allowed, 0, 1000);
        text_fixture d = {.mentions = {.bytes = {.ctx = ctx}}};
        memory.allowed = allowed;
        status = rill_lexicon_read(ctx, "lexicon.tsv", SMALL, strlen(SMALL), &d.lexicon);
        if (status == RILL_OK) status = rill_question_open(ctx, d.lexicon, &d.question);
        if (status == RILL_OK) status = text_fixture_read(&d, question, strlen(question), 0);
        if (status != RILL_OK) assert_int_equal(d.mentions.count, 0);
        memory.allowed = -1;
        text_fixture_clear(&d);
        assert_int_equal(rill_memory_used(ctx), 0);
    }
    assert_int_equal(status, RILL_OK);
}

/* --- invalid lexicons --------------------------------------------------------------------------------------------- */

#define START "@format\t1\n@type\tp\n"

static void broken_lexicons_are_refused_with_line_and_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "l: no '@format' line; the first directive must be '@format<TAB>1'"},
        {"@format\t2\n", "l:1: unknown format '2'; this program reads format 1"},
        {"# c\n@type\tp\n", "l:2: '@type' before '@format'; begin the file with '@format<TAB>1'"},
        {"a\tp\tb\n", "l:1: an entry before '@format'; begin the file with '@format<TAB>1'"},
        {START "a\tq\tb\n", "l:3: unknown type 'q'; declare it above with '@type<TAB>q'"},
        {START "a\n", "l:3: 1 columns; an entry is 'surface<TAB>type<TAB>constant', then optionally tails, heads and "
                      "flags"},
        {START "Ohio\tp\tx\n", "l:3: 'Ohio' has capital letters and would never match; write it in lower case"},
        {START "s.\tp\tx\n", "l:3: 's.' ends in punctuation, which is removed from questions; write it without"},
        {START "st.\tp\tx\n", "l:3: 'st.' ends in punctuation, which is removed from questions; write it without"},
        {START "a  b\tp\tx\n", "l:3: empty word; put single spaces between words and none at the ends"},
        {START "a\tp\t\n", "l:3: the third column must be the constant, without spaces at its ends"},
        {START "a\tp\tx\t!\n", "l:3: '!' without words after it"},
        {START "a\tp\tx\t\t\tcues\n", "l:3: unknown flag 'cues'; the only flag is 'cue'"},
        {START "a\tp\tx\n\na\tp\tx\n", "l:5: already listed with this type and constant in line 3; remove one"},
        {START "@type\tp\n", "l:3: type 'p' is declared twice; remove one"},
        {START "@type\tp0\n", "l:3: 'p0' is not a type name; use letters a-z and '_'"},
        {START "@stem\tporter\n", "l:3: '@stem' takes 'english' or 'none', not 'porter'"},
        {START "@stem\n", "l:3: 1 columns; write '@stem<TAB>english or none'"},
        {START "@afternoon\t6-1\n", "l:3: '@afternoon' takes a range of hours within 1-11, such as 1-6"},
        {START "@wat\tx\n", "l:3: unknown directive '@wat'; docs/lexicon.md lists them"},
        {START "@keep\ta b\n", "l:3: '@keep' takes one token of at most 64 bytes"},
        {START "@rewrite\tBig\thigh\n", "l:3: 'Big' has capital letters and would never match; write it in lower case"},
        {START "@rewrite\tbig\tHigh\n",
         "l:3: 'High' has capital letters and would never match; write it in lower case"},
        {START "@rule\tp\t(a)\tx\n",
         "l:3: the pattern replaces nothing; put the replaced elements outside the brackets"},
        {START "@rule\tp\ta? b\tx\n", "l:3: the replaced elements may not begin with an optional one"},
        {START "@rule\tp\t(a b\tx\n", "l:3: '(' without ')' in a pattern"},
        {START "@rule\tp\ta b) c\tx\n", "l:3: ')' without '(' in a pattern"},
        {START "@rule\tp\ta (b) c\tx\n",
         "l:3: a pattern is '(left context) replaced elements (right context)', in this order"},
        {START "@rule\tp\t({int}) a\tx\n", "l:3: a left context may hold words, {types}, {word} and {start} only"},
        {START "@rule\tp\t{q}\tx\n", "l:3: '{q}' is neither a class nor a type declared above"},
        {START "@rule\tp\t{int:9-1}\tx\n",
         "l:3: '{int:9-1}': only {digits}, {int} and {ord} take a range, such as {int:1-31}"},
        {START "@rule\tp\ta\t{}\n", "l:3: the constant uses a value, but no replaced element has one"},
        {START "@rule\tp\t{int}\t{x}\n", "l:3: a constant may hold {}, {am} or {pm}, not '{x}'"},
        {START "@prefer\tp\tthe river\n", "l:3: a preference is words around '_', such as 'the _ river'"},
        {START "a\xff\tp\tx\n", "l:3: byte 2 of the line is not UTF-8; save the file as UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rill_lexicon *lexicon;
        if (rill_lexicon_read(ctx, "l", cases[i].text, strlen(cases[i].text), &lexicon) != RILL_ERR_FORMAT)
            fail_msg("case %zu is not refused: %s", i, cases[i].text);
        assert_string_equal(rill_error(ctx), cases[i].sentence);
        assert_null(lexicon);
    }
}

/* The message lists all numbers of columns that a directive may have, including the optional column. */
static void directives_have_their_columns(void **state)
{
    (void)state;
    static const char *const usages[] = {"@format<TAB>1",
                                         "@stem<TAB>english or none",
                                         "@apostrophe<TAB>keep or drop",
                                         "@possessive<TAB>keep or drop",
                                         "@afternoon<TAB>1-6",
                                         "@type<TAB>name[<TAB>plain]",
                                         "@keep<TAB>token",
                                         "@rewrite<TAB>words<TAB>words",
                                         "@rule<TAB>type<TAB>pattern<TAB>constant",
                                         "@prefer<TAB>type<TAB>pattern with _"};
    for (size_t i = 0; i < sizeof usages / sizeof *usages; i++) {
        int max_columns = 1;
        for (const char *tab = usages[i]; (tab = strstr(tab, "<TAB>")) != NULL; tab++) max_columns++;
        const int min_columns = max_columns - (strchr(usages[i], '[') != NULL);
        for (int count = min_columns - 1; count <= max_columns + 1; count += max_columns + 2 - min_columns) {
            char text[100], sentence[100];
            rill_lexicon *lexicon;
            snprintf(text, sizeof text, START "%.*s", (int)strcspn(usages[i], "<"), usages[i]);
            for (int column = 1; column < count; column++) strcat(text, "\tx");
            snprintf(sentence, sizeof sentence, "l:3: %d columns; write '%s'", count, usages[i]);
            assert_int_equal(rill_lexicon_read(ctx, "l", text, strlen(text), &lexicon), RILL_ERR_FORMAT);
            assert_string_equal(rill_error(ctx), sentence);
        }
    }
}

static void a_missing_lexicon_is_not_found(void **state)
{
    (void)state;
    rill_lexicon *lexicon;
    char *folder = folder_make(), *path = join_path(folder, "lexicon.tsv");
    assert_int_equal(rill_lexicon_open(ctx, path, &lexicon), RILL_ERR_NOT_FOUND);
    assert_error(ctx, "cannot open %s/lexicon.tsv: No such file or directory", folder);
    assert_null(lexicon);
    assert_int_equal(rill_lexicon_open(ctx, folder, &lexicon), RILL_ERR_IO);
    free(path);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(geo_questions_take_the_form_of_the_data),
        CASE(jobs_questions_take_the_form_of_the_data),
        CASE(atis_questions_take_the_form_of_the_data),
        CASE(longest_match_wins),
        CASE(cue_words_choose_the_type),
        CASE(a_constant_has_one_number_in_a_question),
        CASE(placeholders_typed_literally_stay_and_keep_their_numbers),
        CASE(numbers_and_clocks_are_read),
        CASE(rule_classes),
        CASE(words_are_rewritten_stemmed_and_cut),
        CASE(placeholders_are_restored_after_question_and_lexicon_are_gone),
        CASE(tokenized_lines_are_only_split),
        CASE(empty_lines_have_no_tokens),
        CASE(control_characters_are_spaces),
        CASE(bytes_that_are_not_utf8_are_named),
        CASE(without_a_lexicon_a_line_is_lowered_and_cut),
        CASE(a_second_line_of_the_same_length_allocates_nothing),
        CASE(every_refused_allocation_is_an_error_and_leaks_nothing),
        CASE(broken_lexicons_are_refused_with_line_and_remedy),
        CASE(directives_have_their_columns),
        CASE(a_missing_lexicon_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
