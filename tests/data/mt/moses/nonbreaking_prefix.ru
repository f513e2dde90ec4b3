А
С
Ф
М
г
д
кв
ул
Ул
руб
с
рис #NUMERIC_ONLY#
